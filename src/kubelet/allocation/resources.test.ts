import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { withContainerResources } from './resources.ts';

const containers = (prefix: string, count: number): Container[] =>
  Array.from({ length: count }, (_, at) => ({
    name: `${prefix}${at}`,
    image: 'i',
    resources: { requests: { cpu: '1' } },
  }));

const podOf = (spec: Pod['spec']): Pod => ({ metadata: { name: 'p' }, spec });

test('a pod whose containers keep their resources stays the same object', () => {
  const pod = podOf({ containers: containers('c', 2), initContainers: containers('i', 1) });
  assert.equal(withContainerResources(pod, {}), pod);
  assert.equal(withContainerResources(pod, { c0: { requests: { cpu: '1000m' } } }), pod);
  for (const name of ['c1', 'i0']) {
    const { spec } = withContainerResources(pod, { [name]: { requests: { cpu: '2' } } });
    const changed = [...spec!.containers, ...spec!.initContainers!].filter(({ resources }) => {
      return resources?.requests?.['cpu'] === '2';
    });
    assert.deepEqual(
      changed.map((one) => one.name),
      [name],
    );
  }
});

test('the containers read of a pod grow as their number', () => {
  const readsOf = (count: number): number => {
    let reads = 0;
    const counted = (list: Container[]): Container[] =>
      new Proxy(list, {
        get(target, key, receiver) {
          reads++;
          return Reflect.get(target, key, receiver) as unknown;
        },
      });
    withContainerResources(
      podOf({ containers: counted(containers('c', count)), initContainers: counted(containers('i', count)) }),
      {},
    );
    return reads;
  };
  const [few, more] = [readsOf(100), readsOf(400)];
  assert.ok(few > 100, `${few} reads`);
  assert.ok(more < 5 * few, `${few} reads for 100, ${more} for 400`);
});
