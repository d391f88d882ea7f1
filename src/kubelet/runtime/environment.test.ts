import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, EnvVar, Pod, Service } from '../../api/gen/core-v1.ts';
import { withContainerResources } from '../allocation/resources.ts';
import { type EnvironmentSources, makeEnvironment } from './environment.ts';

/** Properties that every JavaScript object inherits. Upstream's Go maps have none. */
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

type Made = Parameters<typeof makeEnvironment>[0];

async function listed(context: Made): Promise<Record<string, string>> {
  const environment = await makeEnvironment(context);
  const list = await environment.list(() => context.sources.pause());
  assert.equal(new Set(list.map(({ key }) => key)).size, list.length, 'each variable is there once');
  for (const { key = '', value } of list) assert.equal(environment.get(key), value);
  return Object.fromEntries(list.map(({ key = '', value = '' }) => [key, value]));
}

function environmentOf(env: EnvVar[], sources = none): Promise<Record<string, string>> {
  return listed({ pod: podOf('c'), container: { name: 'c', env }, podIps: [], sources });
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
  const env = await listed({ pod: podOf('c'), container, podIps: [], sources: sources as EnvironmentSources });
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

const manyServices = (count: number, ports: number): Service[] =>
  Array.from({ length: count }, (_, at) => serviceOf(at, ports) as Service);

test('services and ports that make a longer environment than a program can have are refused, for all containers at once', async () => {
  assert.equal(
    Object.keys(await environmentOf([], { ...none, services: () => manyServices(3, 3) })).length,
    3 * (3 + 3 * 5),
  );
  const many = manyServices(1000, 50);
  let pauses = 0;
  const sources = { ...none, services: () => [...many], pause: async () => void pauses++ };
  const refuse = (): Promise<void> =>
    assert.rejects(environmentOf([], sources), /the environment has more than 6291456 characters/);
  await refuse();
  assert.ok(pauses >= 10, `${pauses} pauses`);
  const first = pauses;
  for (let at = 0; at < 10; at++) await refuse();
  assert.equal(pauses, first + 10);
});

test('variables of thousands of services are made once for all containers that see the same, in turns', async () => {
  const many = manyServices(500, 50);
  const spans: number[] = [];
  let pauses = 0;
  const sources = { ...none, services: () => [...many], pause: async () => void pauses++ };
  const make = async (container: Container): Promise<readonly unknown[]> => {
    pauses = 0;
    const environment = await makeEnvironment({ pod: podOf('c'), container, podIps: [], sources });
    const list = await environment.list(sources.pause);
    spans.push(pauses);
    return list;
  };
  const one = await make({ name: 'c' });
  assert.equal(one.length, 500 * (3 + 50 * 5));
  assert.ok(spans[0]! >= 40, `${spans[0]} pauses`);
  const other = await make({
    name: 'd',
    env: [
      { name: 'SERVICE_1_PORT', value: 'own' },
      { name: 'A', value: 'b' },
    ],
  });
  assert.equal(spans[1], 1);
  assert.equal(other.length, one.length + 1);
  assert.equal(other[0], one[0], 'variables are shared');
  many[3] = serviceOf(3, 49) as Service;
  assert.equal((await make({ name: 'e' })).length, one.length - 5);
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
  const env = await listed({ pod: podOf('c'), container: { name: 'c', envFrom }, podIps: [], sources });
  assert.equal(Object.keys(env).length, 100_000);
  assert.ok(pauses >= 20, `${pauses} pauses`);
});
