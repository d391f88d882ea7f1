import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pods } from '../api/gen/resources.ts';
import type { Pod } from '../api/gen/core-v1.ts';
import { stored } from '../api/stored-fixture.ts';
import type { Stored } from '../api/object.ts';
import { indexPodsByController } from './pod-events.ts';
import { createTallies, type Tally } from './pod-tallies.ts';
import { createManualInformer } from './manual-informer-fixture.ts';

/** Holds the pods as they were put. */
class Held implements Tally {
  readonly pods = new Map<string, Pod>();
  put(pod: Pod): void {
    this.pods.set(pod.metadata.uid ?? '', pod);
  }
  remove(uid: string): void {
    this.pods.delete(uid);
  }
}

const OWNER = stored({ metadata: { name: 'o', namespace: 'ns', uid: 'a' } });
const pod = (phase: string, { owned = false, uid = 'p-1' } = {}): Stored<Pod> =>
  stored({
    metadata: {
      name: 'p',
      namespace: 'ns',
      uid,
      ...(owned && { ownerReferences: [{ apiVersion: 'v1', kind: 'O', name: 'o', uid: 'a', controller: true }] }),
    },
    status: { phase },
  });

function started() {
  const told = createManualInformer(Pods);
  indexPodsByController(told.informer);
  const tallies = createTallies(told.informer, {
    make(_: string, pods) {
      const tally = new Held();
      pods.forEach((one) => tally.put(one));
      return tally;
    },
    isBy: () => true,
  });
  const tally = tallies.of(OWNER, '');
  return {
    told,
    adopted: (...pods: Stored<Pod>[]) => tallies.adopted(tally, pods),
    held: () => [...tally.pods.values()],
  };
}

test('adopted pods count before the informer delivers them, and as delivered from then on', () => {
  const { told, adopted, held } = started();
  const orphan = pod('Pending');
  told.put(orphan);
  adopted(orphan);
  assert.deepEqual(held(), [orphan]);
  const running = pod('Running', { owned: true });
  told.put(running);
  assert.deepEqual(held(), [running]);
  told.remove('ns/p');
  assert.deepEqual(held(), []);
});

test('a state that the informer has delivered is not reverted by a claim', () => {
  const { told, adopted, held } = started();
  const orphan = pod('Pending');
  told.put(orphan);
  const running = pod('Running', { owned: true });
  told.put(running);
  adopted(orphan);
  assert.deepEqual(held(), [running]);
  told.remove('ns/p');
  adopted(orphan);
  assert.deepEqual(held(), []);
  told.put(pod('Pending', { uid: 'p-2' }));
  adopted(orphan);
  assert.deepEqual(held(), []);
});

test('an adopted pod that is deleted before the informer delivers its owner leaves the tally', () => {
  const { told, adopted, held } = started();
  told.put(pod('Pending'));
  adopted(pod('Pending'));
  told.remove('ns/p');
  assert.deepEqual(held(), []);
  told.put(pod('Pending'));
  adopted(pod('Pending'));
  told.put(pod('Pending', { uid: 'p-2' }));
  assert.deepEqual(held(), []);
});
