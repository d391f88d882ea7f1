import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EnvVar, Pod } from '../../api/gen/core-v1.ts';
import { withContainerResources } from '../allocation/resources.ts';
import { type EnvironmentSources, makeEnvironment } from './environment.ts';

/** Properties that every object has. Upstream looks names up in maps, which have none of their own. */
const inherited = [...Object.getOwnPropertyNames(Object.prototype)];

const none: EnvironmentSources = {
  getConfigMap: async () => ({ kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'c' }, data: {} }),
  getSecret: async () => ({ kind: 'Secret', apiVersion: 'v1', metadata: { name: 's' }, data: {} }),
  services: () => [],
  readVolumeFile: async () => undefined,
  pause: async () => undefined,
  node: { nodeName: 'n', hostIps: [], allocatable: {} },
  recorder: { event: () => undefined },
};

const podOf = (name: string): Pod => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name: 'p', namespace: 'd', labels: {} },
  spec: { containers: [{ name, image: 'i', resources: { requests: { cpu: '1' } } }] },
});

async function environmentOf(env: EnvVar[], sources = none): Promise<Record<string, string>> {
  const pod = podOf('c');
  return makeEnvironment({ pod, container: { name: 'c', env }, podIps: [], sources });
}

for (const name of inherited) {
  test(`a variable named ${name} is set, and a reference to it stays as written while there is none`, async () => {
    const env = await environmentOf([
      { name: 'BEFORE', value: `$(${name})` },
      { name, value: 'v' },
      { name: 'AFTER', value: `$(${name})` },
    ]);
    assert.deepEqual(Object.entries(env), [
      ['BEFORE', `$(${name})`],
      [name, 'v'],
      ['AFTER', 'v'],
    ]);
  });

  test(`the key ${name} of a configuration map, secret or label is looked up among its own keys`, async () => {
    const configMapKeyRef = { name: 'c', key: name };
    const secretKeyRef = { name: 's', key: name };
    await assert.rejects(environmentOf([{ name: 'A', valueFrom: { configMapKeyRef } }]), /couldn't find key/);
    await assert.rejects(environmentOf([{ name: 'A', valueFrom: { secretKeyRef } }]), /couldn't find key/);
    const fieldRef = { fieldPath: `metadata.labels['${name}']` };
    assert.deepEqual(await environmentOf([{ name: 'A', valueFrom: { fieldRef } }]), { A: '' });
  });
}

test('a configuration map adds a variable for each of its keys, whatever their names', async () => {
  const data = Object.fromEntries(inherited.map((name) => [name, name]));
  const sources = { ...none, getConfigMap: async (): Promise<object> => ({ metadata: { name: 'c' }, data }) };
  const container = { name: 'c', envFrom: [{ configMapRef: { name: 'c' } }] };
  const env = await makeEnvironment({ pod: podOf('c'), container, podIps: [], sources: sources as EnvironmentSources });
  assert.deepEqual(Object.keys(env).sort(), inherited.toSorted());
});

test('a container that is named as a property of every object keeps its resources while it has no others', () => {
  const pod = podOf('constructor');
  assert.equal(withContainerResources(pod, {}), pod);
});

const serviceOf = (at: number, ports: number): object => ({
  metadata: { name: `service-${at}`, namespace: 'd' },
  spec: { clusterIP: '10.43.0.1', ports: Array.from({ length: ports }, (_, n) => ({ name: `p${n}`, port: n + 1 })) },
});

test('services and ports that make a longer environment than a program can have are refused before they are combined', async () => {
  const few = Array.from({ length: 3 }, (_, at) => serviceOf(at, 3));
  const env = await environmentOf([], { ...none, services: () => few } as EnvironmentSources);
  assert.equal(Object.keys(env).length, 3 * (3 + 3 * 5));
  const many = Array.from({ length: 1000 }, (_, at) => serviceOf(at, 50));
  let combined = 0;
  const { assign } = Object;
  Object.assign = ((...args: Parameters<typeof assign>) => (combined++, assign(...args))) as typeof assign;
  try {
    const refused = environmentOf([], { ...none, services: () => many } as EnvironmentSources);
    await assert.rejects(refused, /the environment has more than 6291456 characters/);
  } finally {
    Object.assign = assign;
  }
  assert.equal(combined, 0);
});

test('a map that thousands of sources name is walked once before its variables are refused', async () => {
  let reads = 0;
  const data = new Proxy<Record<string, string>>(
    Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`k${at}`, 'v'])),
    {
      get(target, key) {
        reads++;
        return Reflect.get(target, key) as unknown;
      },
    },
  );
  const sources = { ...none, getConfigMap: async () => ({ metadata: { name: 'c' }, data }) } as EnvironmentSources;
  const envFrom = Array.from({ length: 2000 }, (_, at) => ({ prefix: `P${at}_`, configMapRef: { name: 'c' } }));
  const container = { name: 'c', envFrom };
  await assert.rejects(
    makeEnvironment({ pod: podOf('c'), container, podIps: [], sources }),
    /the environment has more than/,
  );
  assert.ok(reads <= 10_000, `${reads} values read`);
});

test('others have their turn while thousands of variables are set', async () => {
  const data = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`k${at}`, 'v']));
  let pauses = 0;
  const sources = {
    ...none,
    getConfigMap: async () => ({ metadata: { name: 'c' }, data }),
    pause: async () => void pauses++,
  } as EnvironmentSources;
  const envFrom = Array.from({ length: 5 }, (_, at) => ({ prefix: `P${at}_`, configMapRef: { name: 'c' } }));
  const env = await makeEnvironment({ pod: podOf('c'), container: { name: 'c', envFrom }, podIps: [], sources });
  assert.equal(Object.keys(env).length, 100_000);
  assert.ok(pauses >= 20, `${pauses} pauses`);
});
