import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Principal } from '../api/transport.ts';
import type { StatusError } from '../api/status-error.ts';
import { NODE_NAME_KEY } from '../component-helpers/user-names.ts';
import { MAX_WATCH_WEIGHT, WatchQuota } from './endpoints/watch-quota.ts';
import { MAX_REQUIREMENTS, MAX_VALUES } from './generic-registry/bounded-selectors.ts';
import { startTestServer } from './server-fixture.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const terms = (count: number, term: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => term(index)).join(',');

test('selectors have bounds, for lists, watches and deletions of many', async () => {
  const { send } = await startTestServer();
  const many = {
    'labelSelector requirements': `labelSelector=${terms(MAX_REQUIREMENTS + 1, (index) => `!a${index}`)}`,
    'labelSelector values': `labelSelector=${encodeURIComponent(`a in (${terms(MAX_VALUES + 1, String)})`)}`,
    'fieldSelector requirements': `fieldSelector=${terms(MAX_REQUIREMENTS + 1, (index) => `metadata.name!=a${index}`)}`,
  };
  for (const [what, query] of Object.entries(many))
    for (const [method, more] of [
      ['GET', ''],
      ['GET', '&watch=1'],
      ['DELETE', ''],
    ] as const) {
      const { status, body } = await send(method, `${MAPS}?${query}${more}`);
      assert.equal(status, 400, `${method} ${what}${more}`);
      assert.match(
        body.message,
        /^the (label|field) selector has too many (requirements|values): at most \d+ are allowed$/,
      );
    }
  const fine = [
    `labelSelector=${terms(MAX_REQUIREMENTS, (index) => `!a${index}`)}`,
    `labelSelector=${encodeURIComponent(`a in (${terms(MAX_VALUES, String)})`)}`,
  ];
  for (const query of fine) assert.equal((await send('GET', `${MAPS}?${query}`)).status, 200);
});

test('one user opens watches up to a quota, long selectors count more, and ended watches not at all', async () => {
  const { server, request, storage } = await startTestServer();
  const stops: AbortController[] = [];
  const open = async (query: string): Promise<number> => {
    const stop = new AbortController();
    const response = await server.handler(
      request('GET', `${MAPS}?watch=1&resourceVersion=${storage.hub.revision}${query}`, { signal: stop.signal }),
    );
    assert.ok(response.kind === 'stream' || response.kind === 'bytes');
    if (response.kind === 'stream') stops.push(stop);
    else assert.equal(response.headers['retry-after'], '10');
    return response.status;
  };
  const long = `&labelSelector=${terms(MAX_REQUIREMENTS, (index) => `!a${index}`)}`;
  const weight = 1 + MAX_REQUIREMENTS / 8;
  for (let count = 1; count * weight <= MAX_WATCH_WEIGHT; count++) assert.equal(await open(long), 200);
  assert.equal(await open(long), 429);
  for (let left = MAX_WATCH_WEIGHT % weight; left > 0; left--) assert.equal(await open(''), 200);
  assert.equal(await open(''), 429);
  stops.pop()!.abort();
  assert.equal(await open(''), 200);
  assert.equal(await open(''), 429);
  for (const stop of stops) stop.abort();
  assert.equal(await open(long), 200);
  stops.at(-1)!.abort();
});

test('service accounts of a namespace share a quota, those of other namespaces and nodes do not', () => {
  const quota = new WatchQuota();
  const account = (namespace: string, name: string, node?: string): Principal => ({
    name: `system:serviceaccount:${namespace}:${name}`,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
    ...(node !== undefined && { extra: { [NODE_NAME_KEY]: [node] } }),
  });
  const refused = (user: Principal): boolean => {
    try {
      quota.enter(user, 1)();
      return false;
    } catch (error) {
      assert.equal((error as StatusError).status.code, 429);
      return true;
    }
  };
  const leave = quota.enter(account('evil', 'a'), MAX_WATCH_WEIGHT);
  assert.ok(refused(account('evil', 'b')));
  assert.ok(!refused(account('evil', 'agent', 'node-1')));
  assert.ok(!refused(account('good', 'a')));
  assert.ok(!refused({ name: 'alice', groups: ['system:authenticated'] }));
  leave();
  leave();
  assert.ok(!refused(account('evil', 'b')));
  for (const name of ['system:kube-proxy', 'system:node:a']) quota.enter({ name, groups: [] }, 2 * MAX_WATCH_WEIGHT);
  quota.enter({ name: 'system:anonymous', groups: [] }, MAX_WATCH_WEIGHT);
  assert.ok(refused({ name: 'system:anonymous', groups: [] }));
});
