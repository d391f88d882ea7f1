/** The files that the registry removes and keeps: real files, requests on loopback. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { digestOf, INDEX, HOUR_MS, DAY_MS, type Answer, startTestRegistry } from './registry-fixture.ts';

const registry = await startTestRegistry();
after(() => registry.close());
const { parts, time, send, pushBlob, putManifest, imageOf, collect } = registry;

test('garbage is deleted after its time: everything reachable from tags, indexes and subjects stays', async () => {
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
  const startMs = time.passedMs;
  time.passedMs = 0;
  await collect();
  assert.equal(await there(), 'kept-layer,child-layer,referrer-layer,untagged-layer,alone', 'all is new');
  time.passedMs = 2 * HOUR_MS;
  await collect();
  assert.equal(await there(), 'kept-layer,child-layer,referrer-layer,untagged-layer');
  time.passedMs = 8 * DAY_MS;
  await collect();
  assert.equal(await there(), 'kept-layer,child-layer,referrer-layer');
  assert.equal((await send('GET', `/v2/kept/manifests/${childDigest}`)).status, 200);
  time.passedMs = startMs;
});

test('blobs of repositories with the longest paths are no garbage', async () => {
  const name = Array.from({ length: 120 }, () => 'a').join('/');
  assert.equal((await putManifest(name, '1', await imageOf(name, 'deep-layer'))).status, 201);
  time.passedMs += 8 * DAY_MS;
  await collect();
  time.passedMs -= 8 * DAY_MS;
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
  time.passedMs += 2 * HOUR_MS;
  await collect();
  time.passedMs -= 2 * HOUR_MS;
  blobs.size = size;
  const { status } = (await put)!;
  const got = await send('GET', `/v2/again/blobs/${digestOf('again-layer')}`);
  assert.equal(got.status === 200, status === 201, `the manifest ${status}, the blob ${got.status}`);
});
