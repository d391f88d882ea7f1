import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textResponse } from './responses.ts';
import { parseRequestInfo } from './request-info.ts';
import { startTestServer } from './server-fixture.ts';

const POD = '/api/v1/namespaces/default/pods/p';

test('the path of an object behind a view is a read of that object', () => {
  const at = (path: string, method = 'GET') => parseRequestInfo({ method, path, params: new URLSearchParams() });
  assert.deepEqual(at(`/keelson/v1/history${POD}`), {
    ...at(POD),
    path: `/keelson/v1/history${POD}`,
    view: 'history',
  });
  assert.equal(at('/keelson/v1/history/apis/apps/v1/namespaces/a/deployments/d').resource, 'deployments');
  const others = [
    '/keelson/v1/history',
    '/keelson/v2/history/api/v1/nodes/n',
    '/keelson/v1/history/version',
    '/keelson/v1/history/api/v1/watch/nodes/n',
    `/keelson/v1/history${POD}/status`,
  ];
  for (const path of others) assert.equal(at(path).isResourceRequest, false, path);
  const list = at('/keelson/v1/history/api/v1/namespaces/a/pods');
  assert.deepEqual([list.verb, list.namespace, list.resource, list.view], ['list', 'a', 'pods', 'history']);
  assert.equal(at('/keelson/v1/history/api/v1/pods', 'DELETE').isResourceRequest, false);
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
    assert.equal(at(`/keelson/v1/history${POD}`, method).isResourceRequest, false, method);
});

test('a view that is not offered, a kind that is not served and a scope that is wrong are not found', async () => {
  const views = [
    { name: 'seen', serve: () => textResponse(200, 'seen') },
    { name: 'listed', serve: () => textResponse(200, 'seen'), serveList: () => textResponse(200, 'listed') },
  ];
  const { send } = await startTestServer({ views });
  const status = async (path: string) => (await send('GET', path)).status;
  assert.equal(await status(`/keelson/v1/seen${POD}`), 200);
  assert.equal(await status(`/keelson/v1/unseen${POD}`), 404);
  assert.equal(await status('/keelson/v1/constructor/api/v1/namespaces/default/pods/p'), 404);
  assert.equal(await status('/keelson/v1/seen/apis/none/v1/namespaces/default/pods/p'), 404);
  assert.equal(await status('/keelson/v1/seen/api/v1/pods/p'), 404);
  assert.equal(await status('/keelson/v1/seen/api/v1/pods'), 404);
  assert.equal(await status('/keelson/v1/listed/api/v1/pods'), 200);
  assert.equal(await status('/keelson/v1/listed/api/v1/namespaces/a/nodes'), 404);
});
