import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { countSteps } from '../../base/count-steps-fixture.ts';
import type { PodStatus } from '../container/runtime.ts';
import { createMemoryLog } from '../../platform/sim/log.ts';
import { createContainerDeletor } from './container-deletor.ts';

interface World {
  readonly containers: readonly { readonly id: string; readonly name: string }[];
  readonly isPodDeleted: boolean;
  readonly deleteContainer?: (id: string) => Promise<void>;
}

/** A pod whose containers have all exited, the youngest last. */
function world({ containers, isPodDeleted, deleteContainer = async () => undefined }: World): {
  readonly deleted: string[];
  allEnd(): void;
} {
  const deleted: string[] = [];
  const ended = containers.map((container, createdAtMs) => ({ ...container, state: 'exited', createdAtMs }));
  const cleanUp = createContainerDeletor(
    {
      log: createMemoryLog(),
      runtime: {
        deleteContainer(id) {
          deleted.push(id);
          return deleteContainer(id);
        },
      },
      podCache: { peek: () => status },
      podWorkers: { shouldPodContentBeRemoved: () => isPodDeleted },
    },
    1,
  );
  const status = { containers: ended } as unknown as PodStatus;
  return {
    deleted,
    allEnd() {
      for (const { id } of containers) cleanUp('pod', id);
    },
  };
}

const many = (count: number, nameOf: (at: number) => string): World['containers'] =>
  Array.from({ length: count }, (_, at) => ({ id: `c${at}`, name: nameOf(at) }));

test('a container is deleted once however many others end, a few at a time', async () => {
  const waiting: (() => void)[] = [];
  const { deleted, allEnd } = world({
    containers: many(500, (at) => `n${at}`),
    isPodDeleted: true,
    deleteContainer: () => new Promise((resolve) => waiting.push(resolve)),
  });
  allEnd();
  assert.equal(deleted.length, 5);
  while (waiting.length > 0) {
    assert.ok(waiting.length <= 5);
    waiting.shift()!();
    await nextTurn();
  }
  assert.deepEqual(new Set(deleted).size, 500);
  assert.equal(deleted.length, 500);
});

test('the newest dead container of each name stays while its pod is there', async () => {
  const { deleted, allEnd } = world({ containers: many(6, (at) => `n${at % 2}`), isPodDeleted: false });
  allEnd();
  await nextTurn();
  assert.deepEqual(deleted.toSorted(), ['c0', 'c1', 'c2', 'c3']);
});

test('a deletion that failed is not repeated by events of the same status, and holds up no other', async () => {
  const { deleted, allEnd } = world({
    containers: many(3, (at) => `n${at}`),
    isPodDeleted: true,
    deleteContainer: (id) => (id === 'c0' ? Promise.reject(new Error('busy')) : Promise.resolve()),
  });
  for (let round = 0; round < 2; round++) {
    allEnd();
    await nextTurn();
  }
  assert.deepEqual(deleted, ['c2', 'c1', 'c0']);
});

for (const isPodDeleted of [true, false])
  for (const [names, nameOf] of [
    ['names', (at: number): string => `n${at}`],
    ['ends of one name', (): string => 'n'],
  ] as const)
    test(`the work grows as the number of ${names} of a pod that ${isPodDeleted ? 'was deleted' : 'is there'}`, async () => {
      const stepsOf = (count: number): Promise<number> => {
        const { allEnd } = world({ containers: many(count, nameOf), isPodDeleted });
        return countSteps('/sync-loop/container-deletor.ts', async () => {
          allEnd();
          await nextTurn();
        });
      };
      const [few, more] = [await stepsOf(500), await stepsOf(2000)];
      assert.ok(few > 500, `${few} steps`);
      assert.ok(more < 5 * few, `${few} steps for 500, ${more} for 2000`);
    });
