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
