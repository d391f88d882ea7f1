/**
 * Deletes pods that no other component deletes: finished ones above a threshold, those on deleted nodes, terminating
 * ones that were never scheduled or are on nodes out of service. Upstream: pkg/controller/podgc.
 *
 * Watches: pods, nodes. Runs every 20 s. Pods that have not ended are marked as Failed (DisruptionTarget) before the
 * deletion.
 */
import { Nodes, Pods } from '../../api/gen/resources.ts';
import { isReason } from '../../api/status-error.ts';
import { formatTime } from '../../api/time.ts';
import type { Pod, PodCondition } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { isNodeReady } from '../../component-helpers/nodes.ts';
import { isPodTerminal, withPodCondition } from '../../component-helpers/pods.ts';
import { informerList, runPeriodically, type Controller, type ControllerDeps } from '../controller.ts';

const ACCOUNT = 'pod-garbage-collector';
const NAME = 'pod-garbage-collector-controller';
const CHECK_PERIOD_MS = 20_000;
const NODE_QUARANTINE_MS = 40_000;
const DEFAULT_THRESHOLD = 12_500;
const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';

const NODE_GONE: PodCondition = {
  type: 'DisruptionTarget',
  status: 'True',
  reason: 'DeletionByPodGC',
  message: 'PodGC: node no longer exists',
};

export function createPodGarbageCollector(deps: ControllerDeps): Controller {
  const { clock } = deps.platform;
  const client = deps.clientFor(ACCOUNT);
  const log = deps.platform.log.child(NAME);
  const pods = deps.informers.informer(Pods);
  const nodes = deps.informers.informer(Nodes);
  const missingSinceMs = new Map<string, number>();
  const labels = ['namespace', 'reason'];
  const deletions = deps.platform.metrics.counter({
    name: 'pod_gc_collector_force_delete_pods_total',
    help: 'Pods that were deleted by force since the controller started.',
    labels,
  });
  const failures = deps.platform.metrics.counter({
    name: 'pod_gc_collector_force_delete_pod_errors_total',
    help: 'Errors when deleting pods by force since the controller started.',
    labels,
  });

  async function round(signal: AbortSignal): Promise<void> {
    const all = pods.list();
    for (const pod of terminatedBeyond(all, deps.config.terminatedPodGcThreshold ?? DEFAULT_THRESHOLD))
      await remove(pod, { reason: 'terminated' }, signal);
    for (const pod of all) if (isStuckOutOfService(pod)) await remove(pod, { reason: 'out-of-service' }, signal);
    const gone = await goneNodes(all, signal);
    for (const pod of all) {
      if (gone.has(pod.spec?.nodeName ?? '')) {
        await remove(pod, { reason: 'orphaned', condition: NODE_GONE }, signal);
      } else if (pod.metadata.deletionTimestamp !== undefined && (pod.spec?.nodeName ?? '') === '')
        await remove(pod, { reason: 'unscheduled' }, signal);
    }
  }

  function isStuckOutOfService(pod: Pod): boolean {
    if (pod.metadata.deletionTimestamp === undefined) return false;
    const node = nodes.get({ name: pod.spec?.nodeName ?? '' });
    return (
      node !== undefined &&
      !isNodeReady(node) &&
      (node.spec?.taints ?? []).some((taint) => taint.key === OUT_OF_SERVICE)
    );
  }

  /** Node names in pods that the cache lacks for the whole quarantine and that the server lacks now. */
  async function goneNodes(all: readonly Pod[], signal: AbortSignal): Promise<Set<string>> {
    const nowMs = clock.monotonicMs();
    const named = new Set(all.map((pod) => pod.spec?.nodeName ?? '').filter((name) => name !== ''));
    for (const name of missingSinceMs.keys())
      if (!named.has(name) || nodes.get({ name }) !== undefined) missingSinceMs.delete(name);
    const gone = new Set<string>();
    for (const name of named) {
      if (nodes.get({ name }) !== undefined) continue;
      const sinceMs = missingSinceMs.get(name) ?? nowMs;
      missingSinceMs.set(name, sinceMs);
      if (nowMs - sinceMs >= NODE_QUARANTINE_MS && !(await exists(name, signal))) gone.add(name);
    }
    return gone;
  }

  async function exists(name: string, signal: AbortSignal): Promise<boolean> {
    try {
      await client.resource(Nodes).get({ name }, { signal });
      return true;
    } catch (error) {
      if (isReason(error, 'NotFound')) return false;
      throw error;
    }
  }

  async function remove(
    pod: Stored<Pod>,
    { reason, condition }: { readonly reason: string; readonly condition?: PodCondition },
    signal: AbortSignal,
  ): Promise<void> {
    const { namespace, name, uid } = pod.metadata;
    const series = { namespace, reason };
    deletions.inc(series);
    log.info('pod is being garbage collected', { pod: `${namespace}/${name}` });
    try {
      if (!isPodTerminal(pod)) {
        const now = { lastTransitionTime: formatTime(clock.nowMs()) };
        const conditions =
          condition === undefined
            ? {}
            : { conditions: withPodCondition(pod.status?.conditions, { ...condition, ...now }) };
        const patch = { metadata: { uid }, status: { phase: 'Failed', ...conditions } };
        await client
          .resource(Pods)
          .patch({ namespace, name }, { type: 'strategic', patch }, { subresource: 'status', signal });
      }
      await client
        .resource(Pods)
        .delete({ namespace, name }, { gracePeriodSeconds: 0, signal, preconditions: { uid } });
    } catch (error) {
      failures.inc(series);
      if (!isReason(error, 'NotFound', 'Conflict'))
        log.warn('garbage collection of a pod failed', { pod: `${namespace}/${name}`, err: error });
    }
  }

  return {
    name: NAME,
    async start(signal) {
      const informers = informerList(pods, nodes);
      await runPeriodically(deps, { name: NAME, periodMs: CHECK_PERIOD_MS, informers, round }, signal);
    },
  };
}

/** The finished pods above the threshold: evicted ones first, then the oldest. A threshold of 0 keeps all. */
export function terminatedBeyond(pods: readonly Stored<Pod>[], threshold: number): Stored<Pod>[] {
  if (threshold <= 0) return [];
  const finished = pods.filter((pod) => isPodTerminal(pod) && pod.metadata.deletionTimestamp === undefined);
  const surplus = finished.length - threshold;
  if (surplus <= 0) return [];
  const evicted = (pod: Pod): number => (pod.status?.phase === 'Failed' && pod.status.reason === 'Evicted' ? 0 : 1);
  const created = (pod: Pod): string => pod.metadata.creationTimestamp ?? '';
  return finished
    .sort((a, b) => evicted(a) - evicted(b) || (created(a) < created(b) ? -1 : created(a) > created(b) ? 1 : 0))
    .slice(0, surplus);
}
