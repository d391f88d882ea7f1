import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, PodSpec } from '../gen/core-v1.ts';
import { setPodLevelResources } from './pod-level-resources.ts';

test('each container is visited a few times, however many resources the containers have', () => {
  let reads = 0;
  const made = Array.from({ length: 100 }, (_, at): Container => {
    const limits = Object.fromEntries(Array.from({ length: 20 }, (_, size) => [`hugepages-${at}x${size}`, '1']));
    return Object.defineProperty({ name: `c${at}` }, 'resources', { get: () => (reads++, { limits }) });
  });
  const spec: PodSpec = {
    containers: made.slice(0, 50),
    initContainers: made.slice(50),
    resources: { limits: { cpu: '1' } },
  };
  setPodLevelResources(spec);
  assert.equal(Object.keys(spec.resources!.limits!).length, 2001);
  assert.ok(reads <= 400, `${reads} reads`);
});

test("the pod's limit of hugepages is the sum of containers that run at once", () => {
  const withPages = (name: string, amount: string, isSidecar = false): Container => ({
    name,
    resources: { limits: { 'hugepages-2Mi': amount } },
    ...(isSidecar ? { restartPolicy: 'Always' } : {}),
  });
  const cases: readonly (readonly [containers: Container[], initContainers: Container[], limit: string | undefined])[] =
    [
      [[withPages('a', '2Mi'), withPages('b', '4Mi')], [], '6Mi'],
      [[withPages('a', '2Mi')], [withPages('i', '8Mi')], '8Mi'],
      [[withPages('a', '2Mi')], [withPages('s', '4Mi', true), withPages('i', '8Mi')], '12Mi'],
      [[withPages('a', '6Mi')], [withPages('i', '8Mi'), withPages('s', '4Mi', true)], '10Mi'],
      [[{ name: 'a' }], [], undefined],
    ];
  for (const [containers, initContainers, limit] of cases) {
    const spec: PodSpec = { containers, initContainers, resources: { requests: { cpu: '1' } } };
    setPodLevelResources(spec);
    assert.equal(spec.resources!.limits?.['hugepages-2Mi'], limit);
  }
});
