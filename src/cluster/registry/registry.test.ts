/** The registry with clients that keep to the distribution specification: real files, requests on loopback. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { tryDigest } from './oci-names.ts';
import { codeOf, digestOf, MANIFEST, INDEX, startTestRegistry } from './registry-fixture.ts';

const registry = await startTestRegistry();
after(() => registry.close());
const { parts, send, pushBlob, putManifest, imageOf } = registry;

test('stores an image and returns it by tag and by digest, byte for byte', async () => {
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

test('stores a blob in pieces, reports its progress, and refuses a piece out of order', async () => {
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

test('accepts sha512, announced or not', async () => {
  for (const query of ['', '?digest-algorithm=sha512']) {
    const { headers } = await send('POST', `/v2/a/blobs/uploads/${query}`);
    const digest = digestOf(`long${query}`, 'sha512');
    assert.equal((await send('PUT', `${headers['location']}?digest=${digest}`, { body: `long${query}` })).status, 201);
    assert.equal((await send('GET', `/v2/a/blobs/${digest}`)).body.toString(), `long${query}`);
  }
  assert.equal((await send('POST', '/v2/a/blobs/uploads/?digest-algorithm=md5')).status, 400);
});

test('returns ranges of a blob', async () => {
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

test('adds several tags to a manifest that is pushed by its digest', async () => {
  const manifest = await imageOf('many', 'x');
  const digest = digestOf(JSON.stringify(manifest));
  const put = await putManifest('many', `${digest}?tag=1&tag=2`, manifest);
  assert.deepEqual([put.status, put.headers['oci-tag']], [201, '1, 2']);
  assert.equal((await putManifest('many', `${digestOf('other')}`, manifest)).status, 400);
  assert.equal((await send('GET', '/v2/many/manifests/2')).status, 200);
});

test('lists the referrers of a manifest, which may be pushed later, and filters them', async () => {
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
    [await status('DELETE', `blobs/${digestOf('gone-layer')}`), await status('GET', `blobs/${digestOf('gone-layer')}`)],
    [202, 404],
  );
});

test('a manifest that names one blob many times is kept as one that names it once', async () => {
  const image = (await imageOf('same', 'same-layer')) as { layers: readonly object[] };
  const layers = Array.from({ length: 1000 }, () => image.layers[0]!);
  const put = await putManifest('same', '1', { ...image, layers });
  assert.equal(put.status, 201);
  const digest = tryDigest(put.headers['docker-content-digest']!)!;
  assert.equal((await parts.repositories.manifest('same', digest))?.references.length, 2);
});
