/** The registry over real files and requests on loopback: clients that keep to the specification, and hostile ones. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { HttpServer } from '../../platform/http.ts';
import { createNodePlatform, type NodePlatform } from '../../platform/node/node-platform.ts';
import { BlobStore } from './blob-store.ts';
import { collectGarbage } from './collect-garbage.ts';
import { tryDigest } from './oci-names.ts';
import { createRegistryHandlers } from './registry-handler.ts';
import { Repositories } from './repositories.ts';
import { Uploads } from './uploads.ts';

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
const INDEX = 'application/vnd.oci.image.index.v1+json';
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const LIMITS = { maxBytes: 1_000_000, maxCount: 3, maxIdleMs: HOUR_MS };

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
}

const digestOf = (content: string | Buffer, algorithm = 'sha256'): string =>
  `${algorithm}:${createHash(algorithm).update(content).digest('hex')}`;

describe('the registry', () => {
  const folder = mkdtempSync(join(tmpdir(), 'keelson-registry-'));
  let platform: NodePlatform;
  let server: HttpServer;
  let parts: { blobs: BlobStore; repositories: Repositories; uploads: Uploads };
  /** Added to the machine's time. */
  let passedMs = 0;

  before(async () => {
    platform = createNodePlatform({ startSpawner: false, log: { level: 'error' } });
    const { files, random } = platform;
    const clock = {
      ...platform.clock,
      nowMs: () => platform.clock.nowMs() + passedMs,
      monotonicMs: () => platform.clock.monotonicMs() + passedMs,
    };
    const blobs = new BlobStore(files, folder, 0);
    const repositories = new Repositories(files, folder, blobs);
    const uploads = new Uploads({ files, clock, random, blobs }, folder, LIMITS);
    await blobs.open();
    await repositories.open();
    await uploads.open();
    parts = { blobs, repositories, uploads };
    server = await platform.listenHttp(
      { host: '127.0.0.1', port: 0 },
      createRegistryHandlers(parts, platform.log).local,
    );
  });
  after(async () => {
    await server.close(0);
    platform.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const send = (
    method: string,
    path: string,
    {
      body,
      headers = {},
      port = server.port,
    }: { body?: string | Buffer | undefined; headers?: Record<string, string>; port?: number } = {},
  ): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const sent = httpRequest(
        { host: '127.0.0.1', port, method, path, headers: { host: 'localhost', ...headers } },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers as Record<string, string>,
              body: Buffer.concat(chunks),
            }),
          );
          response.on('error', reject);
        },
      );
      sent.on('error', reject);
      sent.end(body);
    });
  const codeOf = ({ body }: Answer): string =>
    (JSON.parse(body.toString()) as { errors: { code: string }[] }).errors[0]!.code;
  const pushBlob = async (name: string, content: string | Buffer): Promise<string> => {
    const digest = digestOf(content);
    const answer = await send('POST', `/v2/${name}/blobs/uploads/?digest=${digest}`, { body: content });
    assert.equal(answer.status, 201, answer.body.toString());
    return digest;
  };
  const putManifest = (name: string, reference: string, manifest: object, type = MANIFEST): Promise<Answer> =>
    send('PUT', `/v2/${name}/manifests/${reference}`, {
      body: JSON.stringify(manifest),
      headers: { 'content-type': type },
    });
  const imageOf = async (name: string, text: string, more: object = {}): Promise<object> => {
    const config = {
      mediaType: 'application/vnd.oci.image.config.v1+json',
      digest: await pushBlob(name, '{}'),
      size: 2,
    };
    const layer = {
      mediaType: 'application/vnd.oci.image.layer.v1.tar',
      digest: await pushBlob(name, text),
      size: text.length,
    };
    return { schemaVersion: 2, mediaType: MANIFEST, config, layers: [layer], ...more };
  };
  const collect = () =>
    collectGarbage(
      { ...parts, clock: { ...platform.clock, nowMs: () => platform.clock.nowMs() + passedMs } },
      new AbortController().signal,
    );

  test('takes an image and gives it back by tag and by digest, byte for byte', async () => {
    assert.equal((await send('GET', '/v2/')).status, 200);
    const manifest = await imageOf('team/app', 'layer');
    const put = await putManifest('team/app', '1', manifest);
    assert.equal(put.status, 201);
    const digest = digestOf(JSON.stringify(manifest));
    assert.equal(put.headers['docker-content-digest'], digest);
    for (const reference of ['1', digest, digest.replace(':', '%3A')]) {
      const got = await send('GET', `/v2/team/app/manifests/${reference}`);
      assert.deepEqual(
        [got.status, got.headers['content-type'], got.headers['docker-content-digest'], got.body.toString()],
        [200, MANIFEST, digest, JSON.stringify(manifest)],
      );
      const head = await send('HEAD', `/v2/team/app/manifests/${reference}`);
      assert.deepEqual(
        [head.status, head.headers['content-length'], head.body.length],
        [200, String(got.body.length), 0],
      );
    }
    assert.equal((await send('GET', `/v2/team/app/blobs/${digestOf('layer')}`)).body.toString(), 'layer');
    assert.match((await send('GET', '/v2/_catalog')).body.toString(), /"team\/app"/);
    for (const [path, code] of [
      ['/v2/team/app/manifests/none', 'MANIFEST_UNKNOWN'],
      [`/v2/team/app/manifests/${digestOf('none')}`, 'MANIFEST_UNKNOWN'],
      [`/v2/team/app/blobs/${digestOf('none')}`, 'BLOB_UNKNOWN'],
      [`/v2/team/other/blobs/${digestOf('layer')}`, 'BLOB_UNKNOWN'],
      ['/v2/team/other/tags/list', 'NAME_UNKNOWN'],
    ] as const) {
      const answer = await send('GET', path);
      assert.deepEqual([answer.status, codeOf(answer)], [404, code], path);
    }
  });

  test('takes a blob in pieces, says how far it is, and refuses a piece out of order', async () => {
    const begun = await send('POST', '/v2/a/blobs/uploads/');
    assert.equal(begun.status, 202);
    const place = begun.headers['location']!;
    const piece = (body: string, range: string) =>
      send('PATCH', place, { body, headers: { 'content-range': range, 'content-length': String(body.length) } });
    assert.equal((await piece('abc', '0-2')).headers['range'], '0-2');
    const gap = await piece('xyz', '5-7');
    assert.deepEqual([gap.status, gap.headers['range'], codeOf(gap)], [416, '0-2', 'BLOB_UPLOAD_INVALID']);
    assert.equal((await piece('defg', '3-5')).status, 400, 'a range of another length');
    assert.equal((await send('GET', place)).headers['range'], '0-2');
    assert.equal((await piece('def', '3-5')).status, 202);
    const late = await send('PUT', `${place}?digest=${digestOf('abcdefgh')}`, {
      body: 'gh',
      headers: { 'content-range': '9-10' },
    });
    assert.equal(late.status, 416);
    const put = await send('PUT', `${place}?digest=${digestOf('abcdefgh')}`, {
      body: 'gh',
      headers: { 'content-range': '6-7' },
    });
    assert.deepEqual([put.status, put.headers['location']], [201, `/v2/a/blobs/${digestOf('abcdefgh')}`]);
    assert.equal(codeOf(await send('GET', place)), 'BLOB_UPLOAD_UNKNOWN');
  });

  test('takes sha512, announced or not', async () => {
    for (const query of ['', '?digest-algorithm=sha512']) {
      const { headers } = await send('POST', `/v2/a/blobs/uploads/${query}`);
      const digest = digestOf(`long${query}`, 'sha512');
      assert.equal(
        (await send('PUT', `${headers['location']}?digest=${digest}`, { body: `long${query}` })).status,
        201,
      );
      assert.equal((await send('GET', `/v2/a/blobs/${digest}`)).body.toString(), `long${query}`);
    }
    assert.equal((await send('POST', '/v2/a/blobs/uploads/?digest-algorithm=md5')).status, 400);
  });

  test('gives parts of a blob', async () => {
    const digest = await pushBlob('a', '0123456789');
    const part = async (range: string) => {
      const { status, headers, body } = await send('GET', `/v2/a/blobs/${digest}`, { headers: { range } });
      return [status, headers['content-range'], body.toString()];
    };
    assert.deepEqual(await part('bytes=2-4'), [206, 'bytes 2-4/10', '234']);
    assert.deepEqual(await part('bytes=7-'), [206, 'bytes 7-9/10', '789']);
    assert.deepEqual(await part('bytes=-3'), [206, 'bytes 7-9/10', '789']);
    assert.deepEqual(await part('bytes=5-99'), [206, 'bytes 5-9/10', '56789']);
    assert.deepEqual(await part('lines=1-2'), [200, undefined, '0123456789']);
    assert.equal((await part('bytes=10-12'))[0], 416);
    assert.equal((await part('bytes=4-2'))[0], 416);
  });

  test('mounts a blob of another repository, and begins an upload where that has none', async () => {
    const digest = await pushBlob('from/here', 'shared');
    const mount = (from: string) => send('POST', `/v2/to/there/blobs/uploads/?mount=${digest}&from=${from}`);
    assert.equal((await mount('from/nowhere')).status, 202);
    assert.equal((await mount('from/here')).status, 201);
    assert.equal((await send('GET', `/v2/to/there/blobs/${digest}`)).body.toString(), 'shared');
    assert.equal((await mount('../../etc')).status, 400);
  });

  test('lists tags in order and by pages', async () => {
    const manifest = await imageOf('paged', 'x');
    for (const tag of ['b', 'a', 'C', 'd']) await putManifest('paged', tag, manifest);
    const page = async (query: string) => {
      const { body, headers } = await send('GET', `/v2/paged/tags/list${query}`);
      return [(JSON.parse(body.toString()) as { tags: string[] }).tags.join(), headers['link']];
    };
    assert.deepEqual(await page(''), ['C,a,b,d', undefined]);
    assert.deepEqual(await page('?n=2'), ['C,a', '</v2/paged/tags/list?n=2&last=a>; rel="next"']);
    assert.deepEqual(await page('?n=2&last=a'), ['b,d', undefined]);
    assert.deepEqual(await page('?n=0'), ['', undefined]);
    assert.equal((await send('GET', '/v2/paged/tags/list?n=-1')).status, 400);
  });

  test('gives several tags to a manifest that is pushed by its digest', async () => {
    const manifest = await imageOf('many', 'x');
    const digest = digestOf(JSON.stringify(manifest));
    const put = await putManifest('many', `${digest}?tag=1&tag=2`, manifest);
    assert.deepEqual([put.status, put.headers['oci-tag']], [201, '1, 2']);
    assert.equal((await putManifest('many', `${digestOf('other')}`, manifest)).status, 400);
    assert.equal((await send('GET', '/v2/many/manifests/2')).status, 200);
  });

  test('lists what refers to a manifest, which may come later, and filters it', async () => {
    const subject = digestOf('to come');
    const empty = await send('GET', `/v2/refs/referrers/${subject}`);
    assert.deepEqual([empty.status, empty.headers['content-type']], [200, INDEX]);
    const refer = async (type: string): Promise<string> => {
      const subjectOf = { mediaType: MANIFEST, digest: subject, size: 1 };
      const manifest = await imageOf('refs', type, {
        artifactType: type,
        subject: subjectOf,
        annotations: { a: type },
      });
      const put = await putManifest('refs', digestOf(JSON.stringify(manifest)), manifest);
      assert.equal(put.headers['oci-subject'], subject);
      return put.headers['docker-content-digest']!;
    };
    const [sbom, signature] = [await refer('test/sbom'), await refer('test/signature')];
    const listed = async (query = '') => {
      const { body, headers } = await send('GET', `/v2/refs/referrers/${subject}${query}`);
      const { manifests } = JSON.parse(body.toString()) as {
        manifests: { digest: string; artifactType: string; annotations: object }[];
      };
      return { manifests, applied: headers['oci-filters-applied'] };
    };
    assert.deepEqual((await listed()).manifests.map(({ digest }) => digest).sort(), [sbom, signature].sort());
    const { manifests, applied } = await listed('?artifactType=test/sbom');
    assert.deepEqual([manifests.length, manifests[0]?.annotations, applied], [1, { a: 'test/sbom' }, 'artifactType']);
    assert.equal((await send('DELETE', `/v2/refs/manifests/${sbom}`)).status, 202);
    assert.equal((await listed()).manifests.length, 1);
    assert.equal((await send('GET', '/v2/refs/referrers/none')).status, 400);
  });

  test('lists referrers by pages that clients can read', async () => {
    const subject = digestOf('of many');
    const annotations = { text: 'x'.repeat(400_000) };
    const pushed: string[] = [];
    for (const type of ['test/1', 'test/2', 'test/3', 'test/4']) {
      const manifest = await imageOf('pages', type, { artifactType: type, subject: { digest: subject }, annotations });
      pushed.push(digestOf(JSON.stringify(manifest)));
      assert.equal((await putManifest('pages', pushed.at(-1)!, manifest)).status, 201);
    }
    const found: string[] = [];
    for (let path: string | undefined = `/v2/pages/referrers/${subject}`; path !== undefined;) {
      const { body, headers } = await send('GET', path);
      assert.ok(body.length < 2_000_000);
      found.push(
        ...(JSON.parse(body.toString()) as { manifests: { digest: string }[] }).manifests.map(({ digest }) => digest),
      );
      path = /^<(.*)>; rel="next"$/.exec(headers['link'] ?? '')?.[1];
    }
    assert.deepEqual(found, pushed.sort());
  });

  test('removes a tag alone, a manifest with its tags, and a blob of one repository', async () => {
    const manifest = await imageOf('gone', 'gone-layer');
    const digest = digestOf(JSON.stringify(manifest));
    for (const tag of ['1', '2']) await putManifest('gone', tag, manifest);
    const status = async (method: string, path: string) => (await send(method, `/v2/gone/${path}`)).status;
    assert.deepEqual([await status('DELETE', 'manifests/1'), await status('GET', 'manifests/1')], [202, 404]);
    assert.equal(await status('GET', 'manifests/2'), 200);
    assert.deepEqual([await status('DELETE', `manifests/${digest}`), await status('GET', 'manifests/2')], [202, 404]);
    assert.equal(await status('DELETE', `manifests/${digest}`), 404);
    assert.deepEqual(
      [
        await status('DELETE', `blobs/${digestOf('gone-layer')}`),
        await status('GET', `blobs/${digestOf('gone-layer')}`),
      ],
      [202, 404],
    );
  });

  test('refuses manifests that are none, too large, or name what is not there', async () => {
    const image = await imageOf('bad', 'x');
    for (const [what, manifest, status, code] of [
      [
        'a blob that is not there',
        { ...image, layers: [{ digest: digestOf('nowhere') }] },
        404,
        'MANIFEST_BLOB_UNKNOWN',
      ],
      [
        'a manifest that is not there',
        { mediaType: MANIFEST, manifests: [{ digest: digestOf('n') }] },
        404,
        'MANIFEST_BLOB_UNKNOWN',
      ],
      [
        'a digest that is a path',
        { ...image, layers: [{ digest: '../../../../etc/passwd' }] },
        400,
        'MANIFEST_INVALID',
      ],
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

  test('keeps to its folder whatever a path says', async () => {
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

  test('says that the disk is full, before and while bytes come', async () => {
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
    passedMs += 2 * HOUR_MS;
    await parts.uploads.expire();
    const places: string[] = [];
    for (let count = 0; count < 3; count++)
      places.push((await send('POST', '/v2/a/blobs/uploads/')).headers['location']!);
    const more = await send('POST', '/v2/a/blobs/uploads/');
    assert.deepEqual([more.status, codeOf(more)], [429, 'TOOMANYREQUESTS']);
    const endless = await send('PATCH', places[0]!, { body: Buffer.alloc(3_000_000) }).catch(() => undefined);
    assert.ok(endless === undefined || endless.status === 413);
    assert.equal((await send('GET', places[0]!)).status, 404);
    passedMs += HOUR_MS + 1;
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

  test('garbage goes when its time has come: what tags, indexes and subjects lead to stays', async () => {
    const tagged = await imageOf('kept', 'kept-layer');
    await putManifest('kept', '1', tagged);
    const child = await imageOf('kept', 'child-layer');
    const childDigest = digestOf(JSON.stringify(child));
    await putManifest('kept', childDigest, child);
    await putManifest('kept', 'all', { mediaType: INDEX, manifests: [{ digest: childDigest }] }, INDEX);
    const subject = { digest: digestOf(JSON.stringify(tagged)) };
    const referrer = await imageOf('kept', 'referrer-layer', { subject });
    await putManifest('kept', digestOf(JSON.stringify(referrer)), referrer);
    const untagged = await imageOf('kept', 'untagged-layer');
    await putManifest('kept', digestOf(JSON.stringify(untagged)), untagged);
    await pushBlob('kept', 'alone');
    const there = async () => {
      const texts = ['kept-layer', 'child-layer', 'referrer-layer', 'untagged-layer', 'alone'];
      const found = await Promise.all(texts.map((text) => send('HEAD', `/v2/kept/blobs/${digestOf(text)}`)));
      return texts.filter((_, at) => found[at]!.status === 200).join();
    };
    const startMs = passedMs;
    passedMs = 0;
    await collect();
    assert.equal(await there(), 'kept-layer,child-layer,referrer-layer,untagged-layer,alone', 'all is new');
    passedMs = 2 * HOUR_MS;
    await collect();
    assert.equal(await there(), 'kept-layer,child-layer,referrer-layer,untagged-layer');
    passedMs = 8 * DAY_MS;
    await collect();
    assert.equal(await there(), 'kept-layer,child-layer,referrer-layer');
    assert.equal((await send('GET', `/v2/kept/manifests/${childDigest}`)).status, 200);
    passedMs = startMs;
  });

  test('what repositories with the longest paths have is no garbage', async () => {
    const name = Array.from({ length: 120 }, () => 'a').join('/');
    assert.equal((await putManifest(name, '1', await imageOf(name, 'deep-layer'))).status, 201);
    passedMs += 8 * DAY_MS;
    await collect();
    passedMs -= 8 * DAY_MS;
    assert.equal((await send('GET', `/v2/${name}/blobs/${digestOf('deep-layer')}`)).body.toString(), 'deep-layer');
    assert.match((await send('GET', '/v2/_catalog')).body.toString(), new RegExp(`"${name}"`));
  });

  test('a blob that is pushed again while its garbage is collected is there, or its manifest is refused', async () => {
    const manifest = await imageOf('again', 'again-layer');
    let put: Promise<Answer> | undefined;
    const { blobs } = parts;
    const size = blobs.size.bind(blobs);
    blobs.size = async (digest) => {
      const found = await size(digest);
      if (digest.text !== digestOf('again-layer') || found !== undefined || put !== undefined) return found;
      await imageOf('again', 'again-layer');
      let isOver = false;
      put = putManifest('again', '1', manifest);
      put.then(() => (isOver = true)).catch(() => undefined);
      // Others are served while the manifest waits for the collection to end.
      for (let count = 0; count < 50 && !isOver; count++) await send('GET', '/v2/');
      return found;
    };
    passedMs += 2 * HOUR_MS;
    await collect();
    passedMs -= 2 * HOUR_MS;
    blobs.size = size;
    const { status } = (await put)!;
    const got = await send('GET', `/v2/again/blobs/${digestOf('again-layer')}`);
    assert.equal(got.status === 200, status === 201, `the manifest ${status}, the blob ${got.status}`);
  });

  test('a manifest that names one blob many times is kept as one that names it once', async () => {
    const image = (await imageOf('same', 'same-layer')) as { layers: readonly object[] };
    const layers = Array.from({ length: 1000 }, () => image.layers[0]!);
    const put = await putManifest('same', '1', { ...image, layers });
    assert.equal(put.status, 201);
    const digest = tryDigest(put.headers['docker-content-digest']!)!;
    assert.equal((await parts.repositories.manifest('same', digest))?.references.length, 2);
  });

  test('nobody but the owner reaches the files', () => {
    const walk = (path: string): void => {
      const stat = statSync(path);
      if (stat.isFile()) assert.equal(stat.mode & 0o077, 0, path);
      else for (const name of readdirSync(path)) walk(join(path, name));
    };
    walk(folder);
    for (const name of readdirSync(folder)) assert.equal(statSync(join(folder, name)).mode & 0o077, 0, name);
  });
});
