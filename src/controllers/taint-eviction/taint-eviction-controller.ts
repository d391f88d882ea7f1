/**
 * Evicts pods that do not tolerate their node's NoExecute taints, at once or after their tolerationSeconds. Upstream:
 * pkg/controller/tainteviction (processPodOnNode).
 *
 * Watches: pods, nodes. Deletes pods. A pod's toleration period begins when the taint is first seen and is cancelled
 * when the taint is removed.
 */
import { deepEqual } from '../../base/equal.ts';
import { minInt64, secondsToMs } from '../../api/int64.ts';
import { Nodes, Pods } from '../../api/gen/resources.ts';
import { getMatchingTolerations } from '../../api/taints-tolerations.ts';
import type { Node, Pod, Taint, Toleration } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';
import { createEvictionMetrics, evictPod } from '../pod-eviction.ts';
import { appendAll } from '../../base/lists.ts';

const ACCOUNT = 'node-controller';
const NAME = 'taint-eviction-controller';
const BY_NODE = 'node-name';
const EVENT = 'TaintManagerEviction';
const WORDS = {
  event: EVENT,
  reason: 'DeletionByTaintManager',
  message: 'Taint manager: deleting due to NoExecute taint',
} as const;

/** Milliseconds for which the tolerations accept these taints: 0 not at all, Infinity for ever. */
export function toleratedMs(taints: readonly Taint[], tolerations: readonly Toleration[]): number {
  const used: Toleration[] = [];
  for (const taint of taints) {
    const matching = getMatchingTolerations(tolerations, taint);
    if (matching.length === 0) return 0;
    appendAll(used, matching);
  }
  const limits = used.map((toleration) => toleration.tolerationSeconds).filter((seconds) => seconds !== undefined);
  return limits.length === 0 ? Number.POSITIVE_INFINITY : Math.max(0, secondsToMs(limits.reduce(minInt64)));
}

export function createTaintEvictionController(deps: ControllerDeps): Controller {
  const { clock } = deps.platform;
  const client = deps.clientFor(ACCOUNT).resource(Pods);
  const recorder = deps.recorderFor(NAME);
  const pods = deps.informers.informer(Pods);
  const nodes = deps.informers.informer(Nodes);
  const metrics = createEvictionMetrics(deps.platform.metrics, 'taint_eviction_controller');
  pods.addIndex(BY_NODE, (pod) => [pod.spec?.nodeName ?? '']);
  /** Pods with a running toleration period, and its monotonic start. */
  const running = new Map<string, { readonly uid: string; readonly sinceMs: number }>();
  const loop = createKeyedLoop(deps, {
    name: NAME,
    queueName: 'noexec_taint_pod',
    workers: 8,
    informers: informerList(pods, nodes),
    sync: processPod,
  });

  async function processPod(key: string, signal: AbortSignal): Promise<void> {
    const pod = pods.get(parseKey(key));
    const node = pod === undefined ? undefined : nodes.get({ name: pod.spec?.nodeName ?? '' });
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) {
      running.delete(key);
      return;
    }
    const taints = (node?.spec?.taints ?? []).filter((taint) => taint.effect === 'NoExecute');
    const limitMs = taints.length === 0 ? Number.POSITIVE_INFINITY : toleratedMs(taints, pod.spec?.tolerations ?? []);
    if (limitMs === Number.POSITIVE_INFINITY) return cancel(key, pod);
    const nowMs = clock.monotonicMs();
    const uid = pod.metadata.uid;
    let clockOf = running.get(key);
    if (clockOf?.uid !== uid) running.set(key, (clockOf = { uid, sinceMs: nowMs }));
    const leftMs = clockOf.sinceMs + limitMs - nowMs;
    if (leftMs > 0) return loop.queue.addAfter(key, leftMs);
    if (await evictPod({ pods: client, recorder, clock }, pod, { words: WORDS, signal }))
      metrics.deleted((clock.monotonicMs() - clockOf.sinceMs - limitMs) / 1000);
    running.delete(key);
  }

  function cancel(key: string, pod: Pod): void {
    if (running.delete(key)) recorder.event(pod, 'Normal', EVENT, `Cancelling deletion of Pod ${key}`);
  }

  const enqueueNode = (node: Stored<Node>): void => {
    for (const pod of pods.byIndex(BY_NODE, node.metadata.name)) loop.queue.add(keyOfObject(pod));
  };
  const noExecuteText = (node: Node): string =>
    JSON.stringify((node.spec?.taints ?? []).filter((taint) => taint.effect === 'NoExecute'));
  nodes.addHandler({
    onAdd: enqueueNode,
    onUpdate(old, node) {
      if (noExecuteText(old) !== noExecuteText(node)) enqueueNode(node);
    },
  });
  pods.addHandler({
    onAdd: (pod) => loop.queue.add(keyOfObject(pod)),
    onUpdate(old, pod) {
      if (old.spec === pod.spec && old.metadata.deletionTimestamp === pod.metadata.deletionTimestamp) return;
      if (old.spec?.nodeName !== pod.spec?.nodeName || !deepEqual(old.spec?.tolerations, pod.spec?.tolerations))
        loop.queue.add(keyOfObject(pod));
    },
    onDelete: (pod) => running.delete(keyOfObject(pod)),
  });
  return loop;
}
