/** The registry with hostile clients and a disk that is full: real files, requests on loopback. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { HttpServer } from '../../platform/http.ts';
import { BlobStore } from './blob-store.ts';
import { createRegistryHandlers } from './registry-handler.ts';
import { Repositories } from './repositories.ts';
import { Uploads } from './uploads.ts';
import { codeOf, digestOf, MANIFEST, INDEX, HOUR_MS, LIMITS, startTestRegistry } from './registry-fixture.ts';

const registry = await startTestRegistry();
after(() => registry.close());
const { folder, platform, server, parts, time, send, putManifest, imageOf } = registry;

test('refuses manifests that are invalid, too large, or name missing blobs', async () => {
  const image = await imageOf('bad', 'x');
  for (const [what, manifest, status, code] of [
    ['a blob that is not there', { ...image, layers: [{ digest: digestOf('nowhere') }] }, 404, 'MANIFEST_BLOB_UNKNOWN'],
    [
      'a manifest that is not there',
      { mediaType: MANIFEST, manifests: [{ digest: digestOf('n') }] },
      404,
      'MANIFEST_BLOB_UNKNOWN',
    ],
    ['a digest that is a path', { ...image, layers: [{ digest: '../../../../etc/passwd' }] }, 400, 'MANIFEST_INVALID'],
    ['another media type', { ...image, mediaType: INDEX }, 400, 'MANIFEST_INVALID'],
    ['lists that are none', { ...image, layers: 'x' }, 400, 'MANIFEST_INVALID'],
  ] as const) {
    const answer = await putManifest('bad', '1', manifest);
    assert.deepEqual([answer.status, codeOf(answer)], [status, code], what);
  }
  const huge = await send('PUT', '/v2/bad/manifests/1', { body: Buffer.alloc(5 * 1024 * 1024, ' ') }).catch(
    () => undefined,
  );
  assert.ok(huge === undefined || huge.status === 413, 'the connection ends, or 413 arrives');
  assert.equal(codeOf(await send('PUT', '/v2/bad/manifests/1', { body: 'no json' })), 'MANIFEST_INVALID');
  assert.equal((await send('GET', '/v2/bad/manifests/1')).status, 404, 'nothing was stored');
});

test('refuses manifests of many parts, which would hold all others while they are parsed', async () => {
  const millions = (unit: string): string => unit.repeat(3_000_000 / unit.length);
  const entries = Array.from({ length: 200_000 }, (_, at) => `"k${at}":"v"`).join(',');
  for (const [what, body, status, code] of [
    ['items', `{"x":[${millions('{},')}{}]}`, 413, 'SIZE_INVALID'],
    ['entries', `{"mediaType":"${MANIFEST}","annotations":{${entries}}}`, 413, 'SIZE_INVALID'],
    ['levels', `{"x":${millions('[')}${millions(']').slice(0, 1_000_000)}`, 400, 'MANIFEST_INVALID'],
  ] as const) {
    const answer = await send('PUT', '/v2/parts/manifests/1', { body, headers: { 'content-type': MANIFEST } });
    assert.deepEqual([answer.status, codeOf(answer)], [status, code], what);
  }
  assert.equal((await send('GET', '/v2/parts/manifests/1')).status, 404, 'nothing was stored');
});

test('looks each blob of a manifest up once, however often it is named', async (t) => {
  const { layers, ...image } = (await imageOf('many', 'x')) as { layers: readonly object[] };
  const looked = t.mock.method(parts.repositories, 'blobSize');
  const manifest = { ...image, layers: Array.from({ length: 9_000 }, () => layers[0]) };
  assert.equal((await putManifest('many', '1', manifest)).status, 201);
  assert.equal(looked.mock.callCount(), 2);
});

test('stays in its folder for every path', async () => {
  const digest = digestOf('x');
  for (const path of [
    '/v2/../etc/manifests/1',
    '/v2/a/../../b/tags/list',
    '/v2/a%2f..%2f..%2fetc/tags/list',
    '/v2/_manifests/tags/list',
    '/v2/a/_layers/manifests/1',
    '/v2/A/tags/list',
    `/v2/${'a'.repeat(300)}/tags/list`,
    '/v2/a/manifests/..',
    '/v2/a/manifests/%2e%2e',
    '/v2/a/manifests/.hidden',
    '/v2/a/blobs/sha256:../../x',
    `/v2/a/blobs/sha1:${digest.slice(7, 47)}`,
    '/v2/a/blobs/uploads/..',
    '/etc/passwd',
    '/v2/a\0b/tags/list'.replace('\0', '%00'),
  ])
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
      const { status } = await send(method, path, { body: method === 'GET' ? undefined : '{}' });
      assert.ok(status >= 400 && status < 500, `${method} ${path}: ${status}`);
    }
  assert.deepEqual(readdirSync(folder).sort(), ['blobs', 'repositories', 'uploads']);
});

test('refuses requests of pages in a browser, by Origin, by Sec-Fetch-Site and by a rebound name', async () => {
  const refused: Record<string, string>[] = [
    { host: 'evil.example.com' },
    { host: 'localhost.example.com:5001' },
    { host: '10.0.0.1:5001' },
    { origin: 'http://localhost:3000' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ];
  for (const headers of refused)
    for (const [method, path] of [
      ['GET', '/v2/_catalog'],
      ['POST', '/v2/a/blobs/uploads/'],
    ] as const) {
      const answer = await send(method, path, { headers });
      assert.deepEqual([answer.status, codeOf(answer)], [403, 'DENIED'], JSON.stringify(headers));
    }
  const allowed = ['localhost', 'LOCALHOST:5001', '127.0.0.1:5001', '[::1]:5001'];
  for (const host of allowed) assert.equal((await send('GET', '/v2/', { headers: { host } })).status, 200, host);
  assert.equal(
    (await send('GET', '/v2/', { headers: { 'sec-fetch-site': 'none' } })).status,
    200,
    'typed into the bar',
  );
});

test('refuses requests without a Host', async () => {
  for (const head of ['GET /v2/ HTTP/1.1\r\nHost:\r\n', 'GET /v2/ HTTP/1.0\r\n']) {
    const socket = connect(server.port, '127.0.0.1');
    socket.end(`${head}\r\n`);
    assert.match(Buffer.concat(await socket.toArray()).toString(), /^HTTP\/1\.1 403 /);
  }
});

test('reports a full disk, before and during an upload', async () => {
  const { files, clock, random } = platform;
  const full = new Proxy(files, {
    get: (target, key: keyof typeof files) =>
      key === 'writeFileAtomic'
        ? () => Promise.reject(Object.assign(new Error('no space'), { code: 'ENOSPC' }))
        : target[key],
  });
  const place = mkdtempSync(join(tmpdir(), 'keelson-registry-'));
  const started: HttpServer[] = [];
  try {
    for (const [reserve, used] of [
      [2 ** 60, files],
      [0, full],
    ] as const) {
      const blobs = new BlobStore(used, place, reserve);
      const repositories = new Repositories(used, place, blobs);
      const uploads = new Uploads({ files: used, clock, random, blobs }, place, LIMITS);
      for (const part of [blobs, repositories, uploads]) await part.open();
      const handler = createRegistryHandlers({ blobs, repositories, uploads }, platform.log).local;
      const other = await platform.listenHttp({ host: '127.0.0.1', port: 0 }, handler);
      started.push(other);
      const path = `/v2/a/blobs/uploads/?digest=${digestOf('x')}`;
      const answer = await send('POST', path, { body: 'x', port: other.port });
      assert.equal(answer.status, 507);
      assert.match(answer.body.toString(), /the disk of the registry is (nearly )?full/);
    }
  } finally {
    for (const each of started) await each.close(0);
    rmSync(place, { recursive: true, force: true });
  }
});

test('a digest that does not fit leaves nothing', async () => {
  const before = readdirSync(join(folder, 'blobs/sha256')).length;
  const answer = await send('POST', `/v2/a/blobs/uploads/?digest=${digestOf('one')}`, { body: 'two' });
  assert.deepEqual([answer.status, codeOf(answer)], [400, 'DIGEST_INVALID']);
  assert.equal(readdirSync(join(folder, 'blobs/sha256')).length, before);
  assert.equal((await send('GET', `/v2/a/blobs/${digestOf('one')}`)).status, 404);
});

test('an upload that does not end is cut off at the limit; uploads are few, and those that rest go', async () => {
  for (const id of readdirSync(join(folder, 'uploads'))) rmSync(join(folder, 'uploads', id));
  time.passedMs += 2 * HOUR_MS;
  await parts.uploads.expire();
  const places: string[] = [];
  for (let count = 0; count < 3; count++)
    places.push((await send('POST', '/v2/a/blobs/uploads/')).headers['location']!);
  const more = await send('POST', '/v2/a/blobs/uploads/');
  assert.deepEqual([more.status, codeOf(more)], [429, 'TOOMANYREQUESTS']);
  const endless = await send('PATCH', places[0]!, { body: Buffer.alloc(3_000_000) }).catch(() => undefined);
  assert.ok(endless === undefined || endless.status === 413);
  assert.equal((await send('GET', places[0]!)).status, 404);
  time.passedMs += HOUR_MS + 1;
  await parts.uploads.expire();
  assert.deepEqual(readdirSync(join(folder, 'uploads')), []);
  assert.equal((await send('GET', places[1]!)).status, 404);
});

test('one request at a time writes to an upload; many at once bring the same blob', async () => {
  const place = (await send('POST', '/v2/a/blobs/uploads/')).headers['location']!;
  const both = await Promise.all([1, 2].map(() => send('PATCH', place, { body: Buffer.alloc(400_000, 1) })));
  const statuses = both.map(({ status }) => status).sort();
  assert.ok(['202,409', '202,202'].includes(statuses.join()), statuses.join());
  const size = Number((await send('GET', place)).headers['range']?.split('-')[1]) + 1;
  assert.equal(size, 400_000 * statuses.filter((status) => status === 202).length, 'whole pieces');
  await send('DELETE', place);
  const same = Buffer.alloc(200_000, 7);
  const results = await Promise.all(
    [1, 2, 3].map(() => send('POST', `/v2/a/blobs/uploads/?digest=${digestOf(same)}`, { body: same })),
  );
  assert.deepEqual(
    results.map(({ status }) => status),
    [201, 201, 201],
  );
  assert.ok((await send('GET', `/v2/a/blobs/${digestOf(same)}`)).body.equals(same));
});

test('only the owner reads the files', () => {
  const walk = (path: string): void => {
    const stat = statSync(path);
    if (stat.isFile()) assert.equal(stat.mode & 0o077, 0, path);
    else for (const name of readdirSync(path)) walk(join(path, name));
  };
  walk(folder);
  for (const name of readdirSync(folder)) assert.equal(statSync(join(folder, name)).mode & 0o077, 0, name);
});
