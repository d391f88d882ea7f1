/** Redirects of aggregated API servers, with `--aggregator-reject-forwarding-redirect` and without. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Net } from '../../platform/net.ts';
import { startNotedServer } from '../authorized-object-fixture.ts';

for (const rejectsRedirects of [true, false])
  test(`a redirect is ${rejectsRedirects ? 'refused' : 'passed on'} when the flag is ${rejectsRedirects}`, async () => {
    const location = 'https://elsewhere.example/';
    const body = async function* () {
      yield Buffer.from('{"resources":[]}');
    };
    const net = {
      http: async ({ url }: { url: string }) => {
        const answer = url.endsWith('/apples') ? { status: 302, headers: { location } } : { status: 200, headers: {} };
        return { ...answer, body: body(), cancel: () => undefined };
      },
    } as unknown as Net;
    const server = await startNotedServer({
      aggregation: { net, identity: () => ({}), builtIns: [], rejectsRedirects },
    });
    const spec = { group: 'fruit.example.com', version: 'v1', service: { namespace: 'a', name: 'fruit' } };
    await server.send('POST', '/api/v1/namespaces/a/services', {
      metadata: { name: 'fruit' },
      spec: { type: 'ExternalName', externalName: 'fruit' },
    });
    await server.send('POST', '/apis/apiregistration.k8s.io/v1/apiservices', {
      metadata: { name: 'v1.fruit.example.com' },
      spec,
    });
    await server.platform.clock.settle();
    const path = '/apis/fruit.example.com/v1/namespaces/a/apples';
    const answer = await server.server.handler(server.request('GET', path));
    assert.ok('status' in answer && 'headers' in answer);
    assert.deepEqual(
      [answer.status, answer.headers['location']],
      rejectsRedirects ? [502, undefined] : [302, location],
    );
  });
