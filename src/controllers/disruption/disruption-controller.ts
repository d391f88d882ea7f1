/**
 * Keeps the status of PodDisruptionBudgets, by which evictions are granted. Upstream: pkg/controller/disruption.
 *
 * Watches: budgets, pods, the kinds that own pods. Writes alone: budget status, apart from the evictions that the API
 * server records in it (disruptedPods). After any failure the budget allows no disruption. It also clears
 * DisruptionTarget conditions of pods that were not deleted (`stale-disruptions.ts`).
 */
import { PodDisruptionBudgets, Pods } from '../../api/gen/resources.ts';
import { compileLabelSelector } from '../../api/label-selector.ts';
import { isReason } from '../../api/status-error.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from '../../api/gen/policy-v1.ts';
import type { Stored } from '../../api/object.ts';
import { deepEqual } from '../../base/equal.ts';
import { errorMessage } from '../../base/errors.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { isPodReady } from '../../component-helpers/pods.ts';
import { equalStatus } from '../../component-helpers/wire-equality.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';
import { selectedOf, SelectingOwners } from '../selecting-owners.ts';
import { budgetStatus, countHealthy, desiredHealthy, disruptedPods, failSafeStatus, needsScale } from './budget.ts';
import { createStaleDisruptionLoop } from './stale-disruptions.ts';
import { expectedScale, SIZED_KINDS } from './expected-scale.ts';

const NAME = 'disruption-controller';
const RECORDER = 'controllermanager';

export function createDisruptionController(deps: ControllerDeps): Controller {
  const { clock } = deps.platform;
  const client = deps.clientFor(NAME);
  const recorder = deps.recorderFor(RECORDER);
  const budgets = deps.informers.informer(PodDisruptionBudgets);
  const pods = deps.informers.informer(Pods);
  const owners = SIZED_KINDS.map((info) => deps.informers.informer(info));
  const loop = createKeyedLoop(deps, {
    name: NAME,
    queueName: 'disruption',
    workers: 1,
    informers: informerList(budgets, pods, ...owners),
    sync: syncDisruptionBudget,
  });

  async function syncDisruptionBudget(key: string, signal: AbortSignal): Promise<void> {
    const budget = budgets.get(parseKey(key));
    if (budget === undefined) return;
    try {
      await write(budget, await count(budget, signal), signal);
    } catch (error) {
      if (signal.aborted || isReason(error, 'Conflict')) throw error;
      await write(budget, failSafeStatus(budget, error as Error, clock.nowMs()), signal);
      throw error;
    }
  }

  async function count(budget: PodDisruptionBudget, signal: AbortSignal): Promise<PodDisruptionBudgetStatus> {
    const selector = compileLabelSelector(budget.spec?.selector);
    const selected = await selectedOf(pods.list(budget.metadata.namespace), selector, () => clock.yield());
    if (selected.length === 0) recorder.event(budget, 'Normal', 'NoPods', 'No matching pods found');
    const expected = await expectedPods(budget, selected, signal);
    const disrupted = disruptedPods(budget, selected, clock.nowMs());
    for (const pod of disrupted.undeleted)
      recorder.event(
        pod,
        'Warning',
        'NotDeleted',
        `Pod was expected by PDB ${keyOfObject(budget)} to be deleted but it wasn't`,
      );
    if (disrupted.recheckMs !== undefined) loop.queue.addAfter(keyOfObject(budget), disrupted.recheckMs + 1);
    const counts = {
      expected,
      desired: desiredHealthy(budget, expected),
      healthy: countHealthy(selected, disrupted),
      disrupted,
    };
    return budgetStatus(budget, counts, clock.nowMs());
  }

  async function expectedPods(
    budget: PodDisruptionBudget,
    selected: readonly Stored<Pod>[],
    signal: AbortSignal,
  ): Promise<number> {
    if (!needsScale(budget)) return selected.length;
    try {
      const { expected, unmanaged } = await expectedScale({ client, owners }, selected, signal);
      if (unmanaged.length > 0) {
        const selector = compileLabelSelector(budget.spec?.selector).toString();
        const advice =
          'To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.';
        const message = `Pods selected by this PodDisruptionBudget (selector: ${selector}) were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. ${advice}`;
        recorder.event(budget, 'Warning', 'UnmanagedPods', message);
      }
      return expected;
    } catch (error) {
      if (!signal.aborted)
        recorder.event(
          budget,
          'Warning',
          'CalculateExpectedPodCountFailed',
          `Failed to calculate the number of expected pods: ${errorMessage(error)}`,
        );
      throw error;
    }
  }

  async function write(
    budget: PodDisruptionBudget,
    status: PodDisruptionBudgetStatus,
    signal: AbortSignal,
  ): Promise<void> {
    if (equalStatus(status, budget.status)) return;
    try {
      // With the resourceVersion that was read: the API server may have granted an eviction since.
      await client.resource(PodDisruptionBudgets).updateStatus({ ...budget, status }, { signal });
    } catch (error) {
      if (!isReason(error, 'NotFound')) throw error;
    }
  }

  const enqueue = (budget: PodDisruptionBudget): void => loop.queue.add(keyOfObject(budget));
  budgets.addHandler({ onAdd: enqueue, onUpdate: (_, budget) => enqueue(budget) });
  const selecting = new SelectingOwners<PodDisruptionBudget, Pod>({
    platform: deps.platform,
    owners: budgets,
    selectorOf: ({ spec }) => compileLabelSelector(spec?.selector),
    found: (key) => loop.queue.add(key),
  });
  pods.addHandler({
    onAdd: (pod) => selecting.find(pod),
    onUpdate(old, pod) {
      if (countsAlike(old, pod)) return;
      if (old.metadata.labels === pod.metadata.labels) selecting.find(pod);
      else selecting.find(old, pod);
    },
    onDelete: (pod) => selecting.find(pod),
  });
  const stale = createStaleDisruptionLoop(deps, client);
  return {
    name: NAME,
    async start(signal) {
      await Promise.all([loop.start(signal), stale.start(signal)]);
    },
  };
}

/**
 * Whether a pod's change cannot affect any budget's status; otherwise all pods of each of its budgets are counted
 * again.
 */
function countsAlike(old: Stored<Pod>, pod: Stored<Pod>): boolean {
  const [was, is] = [old.metadata, pod.metadata];
  return (
    was.uid === is.uid &&
    deepEqual(was.labels, is.labels) &&
    was.deletionTimestamp === is.deletionTimestamp &&
    deepEqual(was.ownerReferences, is.ownerReferences) &&
    isPodReady(old) === isPodReady(pod)
  );
}
