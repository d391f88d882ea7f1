import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { defined } from '../../base/defined-fixture.ts';
import type { Secret } from '../../api/gen/core-v1.ts';
import type { CriError } from '../../cri/cri-error.ts';
import { image } from '../../cri/sim/sim-image.ts';
import { createRuntimeFixture, podOf } from '../runtime/runtime-fixture.ts';
import { createImageGc } from './image-gc.ts';
import { createImagePuller } from './image-puller.ts';
import { parseImageReference } from '../../api/image-reference.ts';
import { configsOfSecrets, credentialsFor, keyMatches, parseDockerConfig } from './pull-credentials.ts';

const digest = `sha256:${'a'.repeat(64)}`;

describe('image names', () => {
  const cases: { name: string; expected: object | RegExp }[] = [
    { name: 'nginx', expected: { registry: 'docker.io', path: 'library/nginx', pullName: 'nginx:latest' } },
    { name: 'team/app:2', expected: { registry: 'docker.io', path: 'team/app', tag: '2', pullName: 'team/app:2' } },
    { name: 'localhost/app', expected: { registry: 'localhost', path: 'app', pullName: 'localhost/app:latest' } },
    {
      name: 'reg.example:5000/a/b:1',
      expected: { registry: 'reg.example:5000', path: 'a/b', tag: '1', pullName: 'reg.example:5000/a/b:1' },
    },
    {
      name: `app@${digest}`,
      expected: { registry: 'docker.io', path: 'library/app', digest, pullName: `app@${digest}` },
    },
    {
      name: `app:1@${digest}`,
      expected: { registry: 'docker.io', path: 'library/app', tag: '1', digest, pullName: `app:1@${digest}` },
    },
    { name: 'Web', expected: /repository name must be lowercase/ },
    { name: 'a//b', expected: /invalid reference format/ },
    { name: '', expected: /invalid reference format/ },
    { name: 'a'.repeat(64), expected: /64-byte hexadecimal/ },
  ];
  for (const { name, expected } of cases) {
    it(JSON.stringify(name), () => {
      if (expected instanceof RegExp) assert.throws(() => parseImageReference(name), expected);
      else assert.deepEqual(defined(parseImageReference(name)), expected);
    });
  }
});

describe('credentials', () => {
  const matches: [string, string, boolean][] = [
    ['https://index.docker.io/v1/', 'nginx', true],
    ['docker.io', 'nginx', true],
    ['reg.example', 'reg.example/a', true],
    ['reg.example', 'other.example/a', false],
    ['*.example.com', 'reg.example.com/a', true],
    ['*.example.com', 'a.b.example.com/a', false],
    ['*.*.example.com', 'a.b.example.com/a', true],
    ['r?g.example.com', 'reg.example.com/a', true],
    ['reg.example:5000', 'reg.example:5000/a', true],
    ['reg.example', 'reg.example:5000/a', false],
    ['reg.example/team', 'reg.example/team/a', true],
    ['reg.example/team', 'reg.example/other', false],
    ['http://reg.example/v2/', 'reg.example/a', true],
  ];
  for (const [key, name, expected] of matches) {
    it(`${key} ${expected ? 'serves' : 'does not serve'} ${name}`, () =>
      assert.equal(keyMatches(key, parseImageReference(name)), expected));
  }

  it('are read from secrets of both kinds, the more specific first, each once', () => {
    const auth = (text: string) => Buffer.from(text).toString('base64');
    const json = {
      auths: { 'reg.example': { auth: auth('wide:w:w') }, 'reg.example/team': { username: 'narrow', password: 'n' } },
    };
    const secret = (type: string, key: string, value: unknown): Secret => ({
      metadata: { name: key },
      type,
      data: { [key]: auth(JSON.stringify(value)) },
    });
    const failed: string[] = [];
    const configs = configsOfSecrets(
      [
        secret('kubernetes.io/dockerconfigjson', '.dockerconfigjson', json),
        secret('kubernetes.io/dockercfg', '.dockercfg', json.auths),
        secret('Opaque', 'x', {}),
        { metadata: { name: 'bad' }, type: 'kubernetes.io/dockercfg', data: { '.dockercfg': auth('{') } },
      ],
      (bad) => failed.push(bad.metadata.name!),
    );
    const source = { secret: { namespace: '', name: '.dockerconfigjson', uid: '' } };
    assert.deepEqual(credentialsFor(parseImageReference('reg.example/team/app'), configs), [
      { credential: { username: 'narrow', password: 'n' }, source },
      { credential: { username: 'wide', password: 'w:w' }, source },
    ]);
    assert.deepEqual(failed, ['bad']);
    assert.throws(() => parseDockerConfig('[]'));
  });
});

describe('pulling', () => {
  const setUp = (maxParallel = 2) => {
    const fixture = createRuntimeFixture({
      images: ['a', 'b', 'c'].map((name) => image(name, { present: false, pull: { after: '10s' } })),
    });
    const puller = createImagePuller({ images: fixture.cri.images, clock: fixture.platform.clock }, { maxParallel });
    const pull = (name: string, signal = new AbortController().signal) =>
      puller.pull({ image: name, credentials: [], signal });
    return { ...fixture, pull };
  };

  it('runs a limited number at a time and reports how long each waited', async () => {
    const { pull, drive } = setUp();
    const results = await drive(Promise.all(['a', 'b', 'c'].map((name) => pull(name))));
    assert.deepEqual(
      results.map(({ pullMs, waitedMs }) => [pullMs, waitedMs]),
      [
        [10_000, 10_000],
        [10_000, 10_000],
        [10_000, 20_000],
      ],
    );
  });

  it('pulls an image once for all who wait, and cancels without waiters', async () => {
    const { pull, drive, cri, platform } = setUp();
    const first = new AbortController();
    const second = new AbortController();
    const both = [pull('a', first.signal), pull('a', second.signal)].map((work) =>
      work.catch((error: unknown) => error),
    );
    await platform.clock.advance(1000);
    assert.equal(cri.calls.get('pullImage'), 1);
    first.abort(new Error('gone'));
    second.abort(new Error('gone too'));
    assert.deepEqual(
      (await drive(Promise.all(both))).map((error) => (error as Error).message),
      ['gone', 'gone too'],
    );
    await drive(pull('a'));
    assert.equal(cri.calls.get('pullImage'), 2);
  });

  it('tries one credential after the other', async () => {
    const fixture = createRuntimeFixture();
    const tried: (string | undefined)[] = [];
    const { CriError: Failure } = await import('../../cri/cri-error.ts');
    const images = {
      ...fixture.cri.images,
      pullImage: async (request: { auth?: { username?: string } }) => {
        tried.push(request.auth?.username);
        if (request.auth?.username !== 'right') throw new Failure('Unknown', 'denied');
        return { imageRef: 'x' };
      },
    };
    const puller = createImagePuller({ images, clock: fixture.platform.clock }, { maxParallel: 1 });
    const { signal } = new AbortController();
    const credential = (username: string) => ({ username, password: 'p' });
    await fixture.drive(puller.pull({ image: 'a', credentials: [credential('wrong'), credential('right')], signal }));
    assert.deepEqual(tried, ['wrong', 'right']);
    await assert.rejects(
      fixture.drive(puller.pull({ image: 'a', credentials: [credential('wrong')], signal })),
      (error: CriError) => error.detail === 'denied',
    );
  });
});

describe('pulls per second', () => {
  it('are limited: an excess fails at once and is retried after its pause', async () => {
    const fixture = createRuntimeFixture(
      { images: ['a', 'b'].map((name) => image(name, { present: false })) },
      { images: { pullsPerSecond: 1, pullBurst: 1 } },
    );
    const containers = ['a', 'b'].map((name) => ({ name, image: name }));
    const { steps } = await fixture.sync(podOf({ containers }));
    assert.deepEqual(
      steps.filter(({ action }) => action === 'StartContainer').map(({ reason, message }) => [reason, message]),
      [
        [undefined, undefined],
        ['ErrImagePull', 'pull QPS exceeded'],
      ],
    );
    await fixture.platform.clock.advance(10_000);
    assert.equal((await fixture.sync(podOf({ containers }))).error, undefined);
  });
});

describe('image garbage collection', () => {
  const gib = 2 ** 30;
  const setUp = async (availableBytes: number, config: Parameters<typeof createImageGc>[1] = {}, info = {}) => {
    const fixture = createRuntimeFixture({
      images: [image('used', { sizeBytes: gib }), image('old', { sizeBytes: gib }), image('new', { sizeBytes: gib })],
    });
    await fixture.sync(podOf({ containers: [{ name: 'main', image: 'used', imagePullPolicy: 'Never' }] }));
    const events: string[] = [];
    const disk = { totalBytes: 10 * gib, availableBytes, totalInodes: 1, availableInodes: 1 };
    const gc = createImageGc(
      {
        runtime: {
          ...fixture.cri.runtime,
          listContainers: (request) => fixture.cri.runtime.listContainers(request),
          status: async (request) => ({
            ...(await fixture.cri.runtime.status(request)),
            info: request.verbose ? info : {},
          }),
        },
        images: fixture.cri.images,
        clock: fixture.platform.clock,
        log: fixture.platform.log,
        files: { ...fixture.platform.files, statFileSystem: async () => disk },
        nodeRef: { kind: 'Node', name: 'n' },
        recorder: { event: (_target, _type, reason) => void events.push(reason) },
      },
      config,
    );
    const left = async (): Promise<string[]> =>
      (await fixture.cri.images.listImages({})).images.map((found) => found.repoTags[0]!);
    return { ...fixture, gc, events, left };
  };

  it('leaves images alone while there is room', async () => {
    const { gc, drive, left } = await setUp(2 * gib);
    await drive(gc.garbageCollect());
    assert.equal((await left()).length, 3);
  });

  it('removes images that were unused for too long, however much space is free', async () => {
    const { gc, drive, left, platform } = await setUp(9 * gib, { maxAgeMs: 3_600_000 });
    await drive(gc.garbageCollect());
    await platform.clock.advance(3_600_000);
    await drive(gc.garbageCollect());
    assert.equal((await left()).length, 3);
    await platform.clock.advance(1);
    await drive(gc.garbageCollect());
    assert.deepEqual(await left(), ['used:latest']);
  });

  it('spares the image that the runtime makes sandboxes from, pinned or not', async () => {
    const config = { maxAgeMs: 3_600_000 };
    const { gc, drive, left, platform } = await setUp(gib, config, { config: '{"sandboxImage":"old:latest"}' });
    await drive(gc.garbageCollect()).catch(() => undefined);
    await drive(gc.deleteUnusedImages());
    await platform.clock.advance(4_000_000);
    await drive(gc.garbageCollect()).catch(() => undefined);
    assert.deepEqual((await left()).toSorted(), ['old:latest', 'used:latest']);
  });

  it('frees space down to the low threshold, but no used and no young images', async () => {
    const { gc, drive, left, platform, events } = await setUp(1.4 * gib);
    await assert.rejects(drive(gc.garbageCollect()), /Failed to garbage collect required amount of images/);
    assert.deepEqual(events, ['FreeDiskSpaceFailed']);
    await platform.clock.advance(120_000);
    await drive(gc.garbageCollect());
    assert.deepEqual((await left()).toSorted(), ['new:latest', 'used:latest']);
    assert.equal(await drive(gc.deleteUnusedImages()), gib);
    assert.deepEqual(await left(), ['used:latest']);
  });
});
