/** Fields of containers in the CRI request, one by one, on the simulated runtime. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { image } from '../../cri/sim/sim-image.ts';
import { createRuntimeFixture, podOf, type RuntimeFixture } from './runtime-fixture.ts';

function fixtureOf(): RuntimeFixture {
  return createRuntimeFixture({ images: [image('app:1')] });
}

/** The CRI configuration of a pod's container, or why it was not created. */
async function configOf(
  fixture: RuntimeFixture,
  container: Partial<Container>,
  spec: Partial<NonNullable<Pod['spec']>> = {},
) {
  const result = await fixture.sync(podOf({ containers: [{ name: 'main', image: 'app:1', ...container }], ...spec }));
  const config = [...fixture.cri.containers.values()][0]?.init.config;
  return { config, problem: result.error === undefined ? undefined : result.steps.at(-1)?.message };
}

for (const [policy, expected] of [
  [undefined, 'Merge'],
  ['Merge', 'Merge'],
  ['Strict', 'Strict'],
] as const)
  it(`supplementalGroupsPolicy ${policy}: ${expected}`, async () => {
    const securityContext = { supplementalGroups: [7], ...(policy && { supplementalGroupsPolicy: policy }) };
    const { config } = await configOf(fixtureOf(), {}, { securityContext });
    const { supplementalGroups, supplementalGroupsPolicy } = config?.linux?.securityContext ?? {};
    assert.deepEqual([supplementalGroups, supplementalGroupsPolicy], [[7], expected]);
  });

it('lifecycle.stopSignal', async () => {
  const { config } = await configOf(fixtureOf(), { lifecycle: { stopSignal: 'SIGUSR1' } });
  assert.equal(config?.stopSignal, 'SIGUSR1');
});

const profiles: [
  string,
  Partial<NonNullable<Pod['spec']>['securityContext']>,
  Container['securityContext'],
  object | undefined,
][] = [
  ['none', {}, {}, undefined],
  ["the pod's", { appArmorProfile: { type: 'RuntimeDefault' } }, {}, { profileType: 'RuntimeDefault' }],
  [
    "the container's",
    { appArmorProfile: { type: 'RuntimeDefault' } },
    { appArmorProfile: { type: 'Localhost', localhostProfile: 'own' } },
    { profileType: 'Localhost', localhostRef: 'own' },
  ],
  ['unconfined', {}, { appArmorProfile: { type: 'Unconfined' } }, { profileType: 'Unconfined' }],
];
for (const [about, ofPod, ofContainer, expected] of profiles)
  it(`appArmorProfile: ${about}`, async () => {
    const { config } = await configOf(fixtureOf(), { securityContext: ofContainer }, { securityContext: ofPod });
    const { apparmor } = config?.linux?.securityContext ?? {};
    assert.deepEqual(apparmor && { ...apparmor }, expected);
  });

it('seLinuxOptions', async () => {
  const seLinuxOptions = { user: 'u', role: 'r', type: 't', level: 's0:c1' };
  const { config } = await configOf(fixtureOf(), { securityContext: { seLinuxOptions } });
  assert.deepEqual(config?.linux?.securityContext?.selinuxOptions, seLinuxOptions);
});

for (const [fields, expected] of [
  [{}, { network: 'POD', ipc: 'POD', pid: 'CONTAINER' }],
  [{ shareProcessNamespace: true }, { network: 'POD', ipc: 'POD', pid: 'POD' }],
  [{ hostNetwork: true }, { network: 'NODE', ipc: 'POD', pid: 'CONTAINER' }],
  [
    { hostIPC: true, hostPID: true },
    { network: 'POD', ipc: 'NODE', pid: 'NODE' },
  ],
] as const)
  it(`namespaces of ${JSON.stringify(fields)}`, async () => {
    const fixture = fixtureOf();
    const { config } = await configOf(fixture, {}, fields);
    const [sandbox] = [...fixture.cri.sandboxes.values()];
    for (const options of [
      config?.linux?.securityContext?.namespaceOptions,
      sandbox?.config.linux?.securityContext?.namespaceOptions,
    ])
      assert.deepEqual({ network: options?.network, ipc: options?.ipc, pid: options?.pid }, expected);
  });

it('runtimeClassName: the handler of the class, and its overhead', async () => {
  const fixture = fixtureOf();
  fixture.world.handlers.set('guarded', 'kata');
  const { problem } = await configOf(fixture, {}, { runtimeClassName: 'guarded', overhead: { memory: '64Mi' } });
  assert.equal(problem, undefined);
  const [sandbox] = [...fixture.cri.sandboxes.values()];
  assert.equal(sandbox?.runtimeHandler, 'kata');
  assert.equal(sandbox.config.linux?.overhead?.memoryLimitInBytes, 64 * 2 ** 20);
});

it('runtimeClassName: a class that is not there keeps the pod waiting, and is named', async () => {
  const fixture = fixtureOf();
  await configOf(fixture, {}, { runtimeClassName: 'none' });
  assert.equal(fixture.cri.sandboxes.size, 0);
  assert.match(fixture.takeEvents().join('\n'), /^FailedCreatePodSandBox: .*"none" not found/m);
});

const files: [string, { key?: string; path?: string; optional?: boolean }, string | undefined, string | undefined][] = [
  ['a key', {}, 'blue', undefined],
  ['another key', { key: 'SIZE' }, '3', undefined],
  ['no key', { key: 'NO' }, undefined, 'environment variable key NO not found in file conf/env of volume data'],
  ['no key, optional', { key: 'NO', optional: true }, undefined, undefined],
  ['no file', { path: 'none' }, undefined, "couldn't find file none in volume data"],
  ['no file, optional', { path: 'none', optional: true }, undefined, undefined],
];
for (const [about, { key = 'COLOR', path = 'conf/env', optional }, expected, problem] of files)
  it(`fileKeyRef: ${about}`, async () => {
    const fixture = fixtureOf();
    await fixture.platform.files.makeDir('/volume/conf');
    await fixture.platform.files.writeFile('/volume/conf/env', "# what it is\nCOLOR='blue'\nSIZE='3'\n");
    const volume = { name: 'data', hostPath: '/volume', readOnly: false, selinuxRelabel: false, block: false };
    fixture.world.volumes.set('data', volume);
    const fileKeyRef = { volumeName: 'data', path, key, ...(optional && { optional }) };
    const made = await configOf(fixture, { env: [{ name: 'VALUE', valueFrom: { fileKeyRef } }] });
    assert.equal(made.config?.envs?.find((each) => each.key === 'VALUE')?.value, expected);
    assert.equal(made.problem, problem);
  });
