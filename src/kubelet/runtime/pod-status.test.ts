import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countSteps } from '../../base/count-steps-fixture.ts';
import { criTable } from '../../cri/gen/cri-table.ts';
import type { CriRuntimeService } from '../../cri/gen/cri-types.ts';
import { POD_UID_LABEL } from './labels.ts';
import { containerState, createPodStatusReader, type PodStatusReader } from './pod-status.ts';

type CriState = Parameters<typeof containerState>[0];

test('every state of CRI has one of ours, and so has a number beyond its enum', () => {
  const known = criTable.enums.ContainerState.split(' ') as CriState[];
  assert.deepEqual(known.map(containerState), ['created', 'running', 'exited', 'unknown']);
  for (const other of ['4', '-1', '2147483647', '__proto__'])
    assert.equal(containerState(other as CriState), 'unknown', other);
});

/** A runtime of pods `p0`, `p1` and so on, each with this number of exited containers. */
function readerOf(containersOfPod: () => number): { reader: PodStatusReader; asked: string[] } {
  const asked: string[] = [];
  const labels = { [POD_UID_LABEL]: 'p' };
  const runtime = {
    listPodSandbox: async () => ({ items: [] }),
    listContainers: async ({ filter }: { filter: { labelSelector: Record<string, string> } }) => ({
      containers: Array.from({ length: containersOfPod() }, (_, at) => ({
        id: `${filter.labelSelector[POD_UID_LABEL]}/c${at}`,
        labels,
        annotations: {},
        state: 'CONTAINER_EXITED',
      })),
    }),
    async containerStatus({ containerId: id }: { containerId: string }) {
      asked.push(id);
      return { status: { id, labels, annotations: {}, state: 'CONTAINER_EXITED', startedAtMs: 0, finishedAtMs: 0 } };
    },
  } as unknown as CriRuntimeService;
  return { reader: createPodStatusReader({ runtime, messages: { messageOf: async () => '' } }), asked };
}

async function readPods(reader: PodStatusReader, count: number): Promise<void> {
  for (let at = 0; at < count; at++) await reader.getPodStatus(`p${at}`, `p${at}`, 'default');
}

test('an exited container is read once, until it is removed or its pod is forgotten', async () => {
  let count = 3;
  const { reader, asked } = readerOf(() => count);
  for (const listed of [3, 3, 2, 3]) {
    count = listed;
    await readPods(reader, 1);
  }
  assert.deepEqual(asked, ['p0/c0', 'p0/c1', 'p0/c2', 'p0/c2']);
  asked.length = 0;
  reader.forgetPod('p1');
  await readPods(reader, 1);
  assert.deepEqual(asked, []);
  reader.forgetPod('p0');
  await readPods(reader, 1);
  assert.deepEqual(asked, ['p0/c0', 'p0/c1', 'p0/c2']);
});

test('the work of reading all pods grows as the number of their containers, not with those of other pods', async () => {
  const stepsOf = (pods: number): Promise<number> => {
    const { reader } = readerOf(() => 50);
    return countSteps('.ts', () => readPods(reader, pods));
  };
  const [few, more] = [await stepsOf(20), await stepsOf(80)];
  assert.ok(few > 1000, `${few} steps`);
  assert.ok(more < 5 * few, `${few} steps for 20 pods, ${more} for 80`);
});
