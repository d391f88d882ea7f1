/**
 * Notices nodes that fell silent, says so in their conditions and on their pods, and taints nodes by their conditions.
 * Upstream: pkg/controller/nodelifecycle (evictions by NoExecute taints are the taint-eviction controller's).
 *
 * Watches: nodes, leases in kube-node-lease, pods. Writes alone: Unknown conditions of silent nodes, the condition taints,
 * Ready=False on pods of nodes that are not ready; labels of early releases. Differs on purpose: a node that is ready again loses its NoExecute
 * taint at once, not with the next round; a lease is heard when it comes, and while all nodes are well there are no rounds
 * until one changes or could have been silent for too long.
 */
import { deepEqual } from '../../base/equal.ts';
import { Leases, Nodes, Pods } from '../../api/gen/resources.ts';
import { isReason, ignoreNotFound } from '../../api/status-error.ts';
import { formatTime } from '../../api/time.ts';
import type { Lease } from '../../api/gen/coordination-v1.ts';
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { createTokenBucket, type TokenBucket } from '../../client/rate-limiter.ts';
import { retryOnConflict } from '../../client/retry-on-conflict.ts';
import { isNodeReady, nodeCondition, zoneKeyOf } from '../../component-helpers/nodes.ts';
import { isPodReady, withPodCondition, podCondition } from '../../component-helpers/pods.ts';
import { createKeyedLoop, informerList, runPeriodically, type Controller, type ControllerDeps } from '../controller.ts';
import { observeNode, silentConditions, type NodeHealth } from './health.ts';
import { createNodeAnnouncer } from './node-changes.ts';
import { earlyLabels } from './node-labels.ts';
import { desiredTaints, noExecuteFor, type NoExecuteWish } from './node-taints.ts';
import { createNodeLifecycleMetrics } from './metrics.ts';
import { createQuietPeriods } from './quiet-periods.ts';
import { zoneRates } from './zones.ts';

const ACCOUNT = 'node-controller';
const NAME = 'node-lifecycle-controller';
const BY_NODE = 'node-name';
const LEASES = 'kube-node-lease';
const DEFAULT_GRACE_MS = 50_000;
const STARTUP_GRACE_MS = 60_000;
const MONITOR_PERIOD_MS = 5000;

export function createNodeLifecycleController(deps: ControllerDeps): Controller {
  const { clock } = deps.platform;
  const client = deps.clientFor(ACCOUNT);
  const nodeClient = client.resource(Nodes);
  const recorder = deps.recorderFor(ACCOUNT);
  const announce = createNodeAnnouncer(recorder);
  const log = deps.platform.log.child(NAME);
  const nodes = deps.informers.informer(Nodes);
  const pods = deps.informers.informer(Pods);
  const leases = deps.informers.informer(Leases, { namespace: LEASES });
  pods.addIndex(BY_NODE, (pod) => [pod.spec?.nodeName ?? '']);
  const metrics = createNodeLifecycleMetrics(deps.platform.metrics);
  const health = new Map<string, NodeHealth>();
  const buckets = new Map<string, TokenBucket>();
  /** The nodes as the last round found them all well: while they are the same and heard of, there is nothing to do. */
  let calm: ReadonlySet<Node> = new Set();

  const loop = createKeyedLoop(deps, {
    name: NAME,
    queueName: 'node_lifecycle_controller',
    workers: 4,
    informers: informerList(nodes, pods, leases),
    sync,
  });

  /** Condition taints follow the node's status at once. */
  async function sync(name: string, signal: AbortSignal): Promise<void> {
    const node = nodes.get({ name });
    if (node === undefined) return;
    await writeTaints(node, isNodeReady(node) ? 'clear' : 'keep', signal);
    const labels = earlyLabels(node);
    if (labels === undefined) return;
    const patch = { metadata: { uid: node.metadata.uid, labels } };
    await nodeClient.patch({ name }, { type: 'merge', patch }, { signal }).catch(ignoreNotFound);
  }

  /** Resolves to whether there was something to write. */
  async function writeTaints(node: Stored<Node>, wish: NoExecuteWish, signal: AbortSignal): Promise<boolean> {
    const name = node.metadata.name;
    let current = node;
    let written = false;
    await retryOnConflict(
      clock,
      async () => {
        const taints = desiredTaints(current, wish, clock.nowMs());
        if (deepEqual(taints, current.spec?.taints ?? [])) return;
        const patch = {
          metadata: { resourceVersion: current.metadata.resourceVersion },
          spec: { taints: taints.length === 0 ? null : taints },
        };
        try {
          await nodeClient.patch({ name }, { type: 'merge', patch }, { signal });
          written = true;
        } catch (error) {
          if (isReason(error, 'NotFound')) return;
          if (isReason(error, 'Conflict')) current = await nodeClient.get({ name }, { signal });
          throw error;
        }
      },
      signal,
    );
    return written;
  }

  async function round(signal: AbortSignal): Promise<void> {
    const all = nodes.list();
    if (isCalm(all) && all.every(isHeardOf)) return;
    calm = new Set();
    announce(all);
    const startedMs = clock.monotonicMs();
    const names = new Set(all.map((node) => node.metadata.name));
    for (const name of health.keys()) if (!names.has(name)) health.delete(name);
    const judged: Stored<Node>[] = [];
    for (const node of all) {
      const judgedFromMs = clock.monotonicMs();
      try {
        judged.push(await judge(node, signal));
        metrics.judged((clock.monotonicMs() - judgedFromMs) / 1000);
      } catch (error) {
        if (!isReason(error, 'NotFound')) judged.push(node);
        if (!signal.aborted) log.warn('monitoring a node failed', { node: node.metadata.name, err: error });
      }
    }
    await taintForEviction(judged, signal);
    metrics.round(judged, (clock.monotonicMs() - startedMs) / 1000);
    if (judged.length === all.length && judged.every((node, at) => node === all[at] && isWell(node)))
      calm = new Set(judged);
  }

  /** Whether these are the nodes that the last round found well. */
  function isCalm(all: readonly Node[]): boolean {
    return all.length === calm.size && all.every((node) => calm.has(node));
  }

  /** Notes the last sign of life; false when it is too long ago. */
  function isHeardOf(node: Stored<Node>): boolean {
    return clock.monotonicMs() <= silentFromMs(node);
  }

  /** Notes the last sign of life; after this time it is too long ago. */
  function silentFromMs(node: Stored<Node>): number {
    const name = node.metadata.name;
    const lease = leases.get({ namespace: LEASES, name });
    const old = health.get(name);
    const heard = observeNode(old, node, { lease, nowMs: clock.monotonicMs() });
    if (heard !== old) health.set(name, heard);
    const graceMs =
      nodeCondition(node, 'Ready') === undefined
        ? STARTUP_GRACE_MS
        : (deps.config.nodeMonitorGracePeriodMs ?? DEFAULT_GRACE_MS);
    return heard.heardMs + graceMs;
  }

  /** While all is calm, until the first node could have been silent for too long. */
  function quietMs(): number {
    const all = nodes.list();
    if (!isCalm(all)) return 0;
    return all.reduce((first, node) => Math.min(first, silentFromMs(node)), Infinity) - clock.monotonicMs();
  }

  /** Updates the conditions of a silent node and tells its pods; returns the node as it then is. */
  async function judge(node: Stored<Node>, signal: AbortSignal): Promise<Stored<Node>> {
    let current = node;
    if (!isHeardOf(node)) {
      const conditions = silentConditions(node, clock.nowMs());
      if (conditions !== (node.status?.conditions ?? conditions) || node.status?.conditions === undefined) {
        const name = node.metadata.name;
        const silentMs = clock.monotonicMs() - (health.get(name)?.heardMs ?? 0);
        log.info('node has not been updated, marking it Unknown', { node: name, silentMs });
        current = await nodeClient.updateStatus({ ...node, status: { ...node.status, conditions } }, { signal });
      }
    }
    await tellPods(current, isNodeReady(node), signal);
    return current;
  }

  async function tellPods(node: Stored<Node>, wasReady: boolean, signal: AbortSignal): Promise<void> {
    const name = node.metadata.name;
    if (isNodeReady(node) || nodeCondition(node, 'Ready') === undefined) return;
    if (wasReady) recorder.event(node, 'Normal', 'NodeNotReady', `Node ${name} status is now: NodeNotReady`);
    // Every round, not only on the change: nothing is lost when a write fails or we restart.
    for (const pod of pods.byIndex(BY_NODE, name)) if (isPodReady(pod)) await markNotReady(pod, signal);
  }

  async function markNotReady(pod: Pod, signal: AbortSignal): Promise<void> {
    const condition = {
      ...podCondition(pod, 'Ready'),
      type: 'Ready',
      status: 'False',
      lastTransitionTime: formatTime(clock.nowMs()),
    };
    try {
      await client
        .resource(Pods)
        .updateStatus(
          { ...pod, status: { ...pod.status, conditions: withPodCondition(pod.status?.conditions, condition) } },
          { signal },
        );
      recorder.event(pod, 'Warning', 'NodeNotReady', 'Node is not ready');
    } catch (error) {
      // The next round sees the pod as it is then.
      if (!isReason(error, 'NotFound', 'Conflict')) throw error;
    }
  }

  /** NoExecute taints, as fast as each zone's state allows; none when every zone is down. */
  async function taintForEviction(all: readonly Stored<Node>[], signal: AbortSignal): Promise<void> {
    const { rates, allDown } = zoneRates(all);
    for (const [zone, rate] of rates) bucketOf(zone).setRate(rate);
    for (const node of all) {
      const key = noExecuteFor(node);
      if (key === undefined || nodeCondition(node, 'Ready') === undefined) continue;
      if (allDown) await writeTaints(node, 'clear', signal);
      else if (mayTaint(node, rates.get(zoneKeyOf(node)) ?? 0)) {
        const written = await writeTaints(node, key, signal);
        if (written && !isBeingEmptied(node)) metrics.evicted(zoneKeyOf(node));
      }
    }
  }
  function mayTaint(node: Node, rate: number): boolean {
    // A taint that is there may always be exchanged for the other.
    return isBeingEmptied(node) || (rate > 0 && bucketOf(zoneKeyOf(node)).tryTake());
  }
  function bucketOf(zone: string): TokenBucket {
    let bucket = buckets.get(zone);
    if (bucket === undefined) buckets.set(zone, (bucket = createTokenBucket(clock, { perSecond: 0.1, burst: 1 })));
    return bucket;
  }

  const periodMs = deps.config.nodeMonitorPeriodMs ?? MONITOR_PERIOD_MS;
  const periods = createQuietPeriods(clock, periodMs, quietMs);
  const changed = (node: Stored<Node>): void => {
    loop.queue.add(node.metadata.name);
    periods.disturb();
  };
  nodes.addHandler({
    onAdd: changed,
    onUpdate: (_, node) => changed(node),
    onDelete(node) {
      health.delete(node.metadata.name);
      periods.disturb();
    },
  });
  const heard = ({ metadata: { name } }: Stored<Lease>): void => {
    const node = nodes.get({ name });
    if (node !== undefined) silentFromMs(node);
  };
  leases.addHandler({ onAdd: heard, onUpdate: (_, lease) => heard(lease) });
  return {
    name: NAME,
    async start(signal) {
      const { rest } = periods;
      const monitor = { name: NAME, periodMs, informers: informerList(nodes, pods, leases), round, rest };
      await Promise.all([loop.start(signal), runPeriodically(deps, monitor, signal)]);
    },
  };
}

/** Whether it has the taint already for which its pods go. */
function isBeingEmptied(node: Node): boolean {
  return (node.spec?.taints ?? []).some(
    (taint) => taint.effect === 'NoExecute' && /not-ready|unreachable/.test(taint.key),
  );
}

/** A ready node without a taint that empties it. */
function isWell(node: Node): boolean {
  return isNodeReady(node) && node.spec?.taints?.some(({ effect }) => effect === 'NoExecute') !== true;
}
