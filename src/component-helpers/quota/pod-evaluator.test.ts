import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod, PodSpec } from '../../api/gen/core-v1.ts';
import { countSteps } from '../../base/count-steps-fixture.ts';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { podUsage } from './pod-evaluator.ts';
import { addLists, maxLists, podTotals } from './resource-lists.ts';

/** A pod whose containers request less than they still have allocated. */
function shrinking(count: number): Pod {
  const resources = { requests: { cpu: '1' } };
  const names = Array.from({ length: count }, (_, at) => `c${at}`);
  return {
    metadata: { name: 'p' },
    spec: { containers: names.map((name) => ({ name, image: 'i', resources })) },
    status: { containerStatuses: names.map((name) => ({ name, resources: { requests: { cpu: '3' } } })) },
  } as unknown as Pod;
}

test('containers count their allocated resources', () => {
  assert.deepEqual(podUsage(shrinking(3), 0), { 'count/pods': '1', pods: '1', cpu: '9', 'requests.cpu': '9' });
});

test('the work of counting a pod grows as the number of its containers', async () => {
  const stepsOf = (count: number): Promise<number> => {
    const pod = shrinking(count);
    return countSteps('.ts', () => podUsage(pod, 0));
  };
  const [few, more] = [await stepsOf(500), await stepsOf(2000)];
  assert.ok(few > 500, `${few} steps`);
  assert.ok(more < 5 * few, `${few} steps for 500, ${more} for 2000`);
});

test('totals are those of a sum of lists that are copied for each container', () => {
  const random = createSeededRandom('totals');
  const below = (n: number): number => Math.floor(random.next() * n);
  const amounts = (): Record<string, string> =>
    Object.fromEntries(Array.from({ length: below(4) }, () => [`r${below(4)}`, `${below(9)}`]));
  for (let round = 0; round < 200; round++) {
    const list = (init: boolean): Container[] =>
      Array.from({ length: 1 + below(4) }, (_, at) => ({
        name: `c${at}`,
        resources: { requests: amounts() },
        ...(init && below(2) === 0 && { restartPolicy: 'Always' }),
      }));
    const spec: PodSpec = { containers: list(false), initContainers: list(true) };
    assert.deepEqual(podTotals(spec, 'requests'), copiedTotals(spec));
  }
});

/** As the resources of pods are described: containers and sidecars, or the largest init container and the sidecars before it. */
function copiedTotals({ containers, initContainers = [] }: PodSpec): Record<string, string> {
  const of = ({ resources }: Container): Record<string, string> => resources?.requests ?? {};
  let total = containers.map(of).reduce(addLists, {});
  let sidecars: Record<string, string> = {};
  let largest: Record<string, string> = {};
  for (const container of initContainers)
    if (container.restartPolicy === 'Always') {
      total = addLists(total, of(container));
      sidecars = addLists(sidecars, of(container));
      largest = maxLists(largest, sidecars);
    } else largest = maxLists(largest, addLists(of(container), sidecars));
  return maxLists(total, largest);
}
