import assert from 'node:assert/strict';
import { test } from 'node:test';
import { image } from '../../cri/sim/sim-image.ts';
import { imageVolumeProblem } from './image-volumes.ts';
import { createRuntimeFixture, podOf } from './runtime-fixture.ts';

test('which runtimes can mount images', () => {
  for (const [name, version, problem] of [
    ['containerd', '1.6.20~ds1', 'containerd 1.6.20~ds1 does not support image volumes, containerd 2.1 or later does'],
    ['containerd', 'v2.0.5', 'containerd v2.0.5 does not support image volumes, containerd 2.1 or later does'],
    ['containerd', 'v2.1.0', undefined],
    ['cri-o', '1.30.2', 'cri-o 1.30.2 does not support image volumes, cri-o 1.31 or later does'],
    ['cri-o', '1.33.0', undefined],
    ['another', '0.1.0', undefined],
    ['containerd', 'unknown', undefined],
  ] as const)
    assert.equal(imageVolumeProblem(name, version), problem);
});

const spec = {
  containers: [{ name: 'main', image: 'app:1', volumeMounts: [{ name: 'data', mountPath: '/data', subPath: 'in' }] }],
  volumes: [{ name: 'data', image: { reference: 'data:1', pullPolicy: 'IfNotPresent' } }],
};

test('an image is pulled and mounted read-only by a runtime that can', async () => {
  const fixture = createRuntimeFixture({ images: [image('app:1'), image('data:1')] });
  const { error } = await fixture.sync(podOf(spec));
  assert.equal(error, undefined);
  const { mounts = [] } = [...fixture.cri.containers.values()][0]!.init.config;
  const mount = mounts.find(({ containerPath }) => containerPath === '/data');
  assert.equal(mount?.readonly, true);
  assert.equal(mount?.imageSubPath, 'in');
  assert.notEqual(mount?.image?.image ?? '', '');
});

test('a pod with an image volume waits, with the reason, where the runtime does not support it', async () => {
  const fixture = createRuntimeFixture({ images: [image('app:1'), image('data:1')] });
  const version = { version: '0.1.0', runtimeName: 'containerd', runtimeVersion: '1.6.20', runtimeApiVersion: 'v1' };
  Object.assign(fixture.cri.runtime, { version: async () => version });
  await fixture.runtime.status();
  const { steps } = await fixture.sync(podOf(spec));
  assert.deepEqual(steps.at(-1), {
    action: 'StartContainer',
    target: 'main',
    reason: 'CreateContainerConfigError',
    message:
      'failed to mount image volume "data" into container "main": containerd 1.6.20 does not support image volumes, containerd 2.1 or later does',
  });
  assert.equal(fixture.cri.containers.size, 0);
});

for (const [mount, problem] of [
  [{ subPathExpr: '$(WHERE)' }, '"../../etc" must not contain ".."'],
  [{ subPathExpr: 'a/$(WHERE)' }, '"a/../../etc" must not contain ".."'],
  [{ subPathExpr: '$(ROOT)' }, '"/etc" must not be an absolute path'],
  [{ subPath: '..' }, '".." must not contain ".."'],
] as const)
  test(`a sub-path of an image that leads out of it is refused: ${JSON.stringify(mount)}`, async () => {
    const fixture = createRuntimeFixture({ images: [image('app:1'), image('data:1')] });
    const env = [
      { name: 'WHERE', value: '../../etc' },
      { name: 'ROOT', value: '/etc' },
    ];
    const volumeMounts = [{ name: 'data', mountPath: '/data', ...mount }];
    const { steps } = await fixture.sync(
      podOf({ ...spec, containers: [{ name: 'main', image: 'app:1', env, volumeMounts }] }),
    );
    assert.equal(
      steps.at(-1)?.message,
      `failed to prepare subPath for volumeMount "data" of container "main": ${problem}`,
    );
    assert.equal(fixture.cri.containers.size, 0);
  });
