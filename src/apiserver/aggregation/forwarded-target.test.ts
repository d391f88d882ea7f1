/** An aggregated server must parse a request to the same attributes that were authorized here. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defined } from '../../base/defined-fixture.ts';
import type { Net } from '../../platform/net.ts';
import { startNotedServer } from '../authorized-object-fixture.ts';
import { parseRequestInfo } from '../request-info.ts';

const ROOT = '/apis/fruit.example.com/v1';
const spaces = ['', 'namespaces/a/', 'namespaces%2Fa/', 'namespaces//a/', 'namespaces//', 'namespaces/a%2f..%2fb/'];
const rests = [
  'apples',
  'apples/x',
  'apples/x/status',
  'apples/x/constructor',
  'apples%2Fx',
  'apples/%78',
  'apples/..',
  'apples/%2e%2e/%2e%2e/b/apples/x',
  'apples/../../b/apples/x',
  'apples\\..\\..\\b\\apples\\x',
  'apples/x%23',
  'apples/x%3Fy',
  'apples/x%5c..%5cy',
  'apples/x%09',
  'apples/ä',
  'apples/%C3%A4',
  'apples/x/proxy//y',
  '',
];
const queries = [
  '',
  'watch=true',
  'watch=0',
  'fieldSelector=metadata.name%3Dx',
  'fieldSelector=metadata.name%3Dx;y',
  'fieldSelector=metadata.name%3Dx%zz',
  'fieldSelector=metadata.name%3Dx&fieldSelector=metadata.name%3Dy',
  'labelSelector=a%3Db;c',
];

function paths(): string[] {
  const starts = [`${ROOT}/`, `${ROOT}/watch/`, `${ROOT}//`];
  return starts.flatMap((start) => spaces.flatMap((space) => rests.map((rest) => start + space + rest)));
}

/** Go's url.ParseQuery: pairs it cannot read are left out. */
function goQuery(text: string): URLSearchParams {
  const pairs = text.split('&').filter((pair) => !pair.includes(';') && !/%(?![0-9a-f]{2})/i.test(pair));
  return new URLSearchParams(pairs.join('&'));
}

test('an aggregated server reads the authorized attributes, whatever the spelling of path and query', async () => {
  const sent: { method: string; url: URL }[] = [];
  const answer = { status: 200, headers: {}, cancel: () => undefined };
  const body = async function* () {
    yield Buffer.from('{"resources":[],"items":[]}');
  };
  const net = {
    http: async ({ method, url }: { method: string; url: string }) => {
      sent.push({ method, url: new URL(url) });
      return { ...answer, body: body() };
    },
  } as unknown as Net;
  const server = await startNotedServer({
    aggregation: { net, identity: () => ({}), builtIns: [], rejectsRedirects: true },
  });
  const put = async (path: string, object: object): Promise<void> => {
    const { status, text } = await server.send('POST', path, object);
    assert.equal(status, 201, text);
  };
  const spec = { group: 'fruit.example.com', version: 'v1', service: { namespace: 'a', name: 'fruit' } };
  await put('/api/v1/namespaces/a/services', {
    metadata: { name: 'fruit' },
    spec: { type: 'ExternalName', externalName: 'fruit' },
  });
  await put('/apis/apiregistration.k8s.io/v1/apiservices', { metadata: { name: 'v1.fruit.example.com' }, spec });
  await server.platform.clock.settle();
  let forwarded = 0;
  for (const path of paths())
    for (const [query, method] of queries.flatMap((one) =>
      ['GET', 'DELETE', 'OPTIONS'].map((method) => [one, method] as const),
    )) {
      const about = `${method} ${path}?${query}`;
      server.notes.clear();
      sent.length = 0;
      const answered = await server.server.handler({ ...server.request(method, path), query });
      assert.ok('status' in answered && answered.status < 500, about);
      const [call] = sent;
      if (call === undefined) continue;
      forwarded++;
      const { pathname, search } = call.url;
      const read = parseRequestInfo({ method: call.method, path: pathname, params: goQuery(search.slice(1)) });
      const { user: _, path: __, ...asked } = server.notes.asked[0]!;
      const { path: ___, viaWatchPath: ____, rest: _____, ...acted } = read;
      assert.deepEqual(defined(asked), defined(acted), about);
    }
  assert.ok(forwarded > 1000, String(forwarded));
});
