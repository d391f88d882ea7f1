/** Creates and deletes daemon pods, at most 250 of each at once. Upstream: DaemonSetsController.syncNodes. */
import { isReason } from '../../api/status-error.ts';
import { keyOfObject } from '../../client/object-store.ts';
import type { Expectations } from '../../component-helpers/expectations.ts';
import type { Clock } from '../../platform/clock.ts';
import { isNamespaceTerminating } from '../controller.ts';
import { type PodControl, slowStartBatch } from '../pod-control.ts';
import { daemonPod } from './daemon-sets.ts';
import type { Moment } from './node-view.ts';
import type { RollingStep } from './rolling-update.ts';

const BURST_REPLICAS = 250;

export interface SyncNodesDeps {
  readonly podControl: PodControl;
  readonly expectations: Expectations;
  readonly clock: Clock;
}

/** The first failure is returned, as the status must be written anyway. */
export async function syncNodes(
  deps: SyncNodesDeps,
  { moment, step }: { readonly moment: Moment; readonly step: RollingStep },
  signal: AbortSignal,
): Promise<unknown> {
  if (step.create.length === 0 && step.remove.length === 0) return undefined;
  const { podControl, expectations } = deps;
  const key = keyOfObject(moment.set);
  const create = step.create.slice(0, BURST_REPLICAS);
  const remove = step.remove.slice(0, BURST_REPLICAS);
  const removedUids = remove.map(({ metadata }) => metadata.uid);
  expectations.expect(key, create.length, removedUids);
  let failure = await createPods(deps, moment, create, signal);
  for (const pod of remove) {
    try {
      await podControl.remove(moment.set, pod, signal);
    } catch (error) {
      expectations.deletionObserved(key, pod.metadata.uid);
      if (!isReason(error, 'NotFound')) failure ??= error;
    }
  }
  return failure;
}

/** Creates a pod on each of these nodes. Returns the first failure. */
async function createPods(
  { podControl, expectations, clock }: SyncNodesDeps,
  { set, hash }: Moment,
  nodeNames: readonly string[],
  signal: AbortSignal,
): Promise<unknown> {
  const key = keyOfObject(set);
  const created = await slowStartBatch(
    nodeNames.length,
    async (index) => {
      try {
        await podControl.create(set, daemonPod(set, hash, nodeNames[index] ?? ''), signal);
      } catch (error) {
        // The namespace is terminating, and the set with it: this is no failure.
        if (!isNamespaceTerminating(error)) throw error;
        expectations.creationObserved(key);
      }
    },
    clock,
  );
  for (let missed = nodeNames.length - created.successes; missed > 0; missed--) expectations.creationObserved(key);
  return created.error;
}
