import assert from 'node:assert/strict';
import { test } from 'node:test';
import { image } from '../../cri/sim/sim-image.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { createRuntimeFixture, podOf } from './runtime-fixture.ts';
import { createUserNamespaces } from './user-namespaces.ts';

const containers = [{ name: 'main', image: 'app:1' }];
const own = (uid: string) => podOf({ containers, hostUsers: false }, { uid });

test('a pod with hostUsers false has its user namespace in its sandbox, its containers and its mounts', async () => {
  const fixture = createRuntimeFixture({ images: [image('app:1')], userNamespaces: true });
  await fixture.drive(fixture.runtime.status());
  const result = await fixture.sync(own('a'));
  assert.equal(result.error, undefined, result.steps.at(-1)?.message);
  const { config, sandboxConfig } = [...fixture.cri.containers.values()][0]!.init as {
    config: { linux?: { securityContext?: object }; mounts?: readonly object[] };
    sandboxConfig?: { linux?: { securityContext?: object } };
  };
  const mapping = { hostId: 65_536, containerId: 0, length: 65_536 };
  const usernsOptions = { mode: 'POD', uids: [mapping], gids: [mapping] };
  const options = (of: { linux?: { securityContext?: object } } | undefined): unknown =>
    (of?.linux?.securityContext as { namespaceOptions: { usernsOptions?: object } } | undefined)?.namespaceOptions
      .usernsOptions;
  assert.deepEqual(options(config), usernsOptions);
  if (sandboxConfig !== undefined) assert.deepEqual(options(sandboxConfig), usernsOptions);
  assert.ok((config.mounts ?? []).length > 0);
  for (const mount of config.mounts ?? []) assert.deepEqual((mount as { uidMappings: unknown }).uidMappings, [mapping]);
});

test('where the runtime does not support it, the pod waits and reports that', async () => {
  const fixture = createRuntimeFixture({ images: [image('app:1')] });
  await fixture.drive(fixture.runtime.status());
  const result = await fixture.sync(own('a'));
  assert.match(
    result.steps.at(-1)?.message ?? '',
    /can't set `spec.hostUsers: false`, runtime does not support user namespaces/,
  );
});

test('ranges differ, are remembered, and are free again when their pod is deleted', async () => {
  const { files } = createSimPlatform();
  const paths = { rootDir: '/k', podLogsDir: '/l' };
  const make = () => createUserNamespaces({ files, paths, idsPerPod: 131_072, supported: (handler) => handler === '' });
  const first = make();
  const start = async (uid: string, from = first): Promise<number | undefined> =>
    (await from.of(own(uid), ''))?.uids[0]?.hostId;
  assert.equal(await first.of(podOf({ containers }), ''), undefined);
  assert.deepEqual([await start('a'), await start('b'), await start('a')], [65_536, 196_608, 65_536]);
  await assert.rejects(first.of(own('c'), 'kata'), /RuntimeClass handler "kata" does not support user namespaces/);
  const again = make();
  assert.equal(await start('c', again), 327_680);
  again.forgetPod('a');
  assert.equal(await start('d', again), 65_536);
});
