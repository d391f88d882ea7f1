/**
 * Detects nodes without heartbeats, updates their conditions and their pods', and taints nodes by their conditions.
 * Upstream: monitorNodeHealth, doNoExecuteTaintingPass and doNoScheduleTaintingPass in pkg/controller/nodelifecycle
 * (the taint-eviction controller evicts by NoExecute taints).
 *
 * Watches: nodes, leases in kube-node-lease, pods. Writes alone: Unknown conditions of silent nodes, the condition
 * taints, Ready=False on pods of nodes that are not ready; labels of early releases. Differs on purpose: a node that
 * is ready again loses its NoExecute taint at once, not with the next round; leases are observed as they arrive, and
 * while all nodes are healthy no round runs until one changes or its grace period could have passed.
 */
import type { Lease } from '../../api/gen/coordination-v1.ts';
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import { Leases, Nodes, Pods } from '../../api/gen/resources.ts';
import type { Stored } from '../../api/object.ts';
import { ignoreNotFound, isReason } from '../../api/status-error.ts';
import { deepEqual } from '../../base/equal.ts';
import type { ResourceClient } from '../../client/client.ts';
import type { Informer } from '../../client/informer.ts';
import { createTokenBucket, type TokenBucket } from '../../client/rate-limiter.ts';
import { retryOnConflict } from '../../client/retry-on-conflict.ts';
import { isNodeReady, nodeCondition, zoneKeyOf } from '../../component-helpers/nodes.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import {
  type Controller,
  type ControllerDeps,
  createKeyedLoop,
  informerList,
  type KeyedLoop,
  runPeriodically,
} from '../controller.ts';
import { type NodeHealth, observeNode, silentConditions } from './health.ts';
import { NODE_MONITOR_GRACE_MS, NODE_MONITOR_PERIOD_MS } from './monitor-periods.ts';
import { createNodeLifecycleMetrics, type NodeLifecycleMetrics } from './metrics.ts';
import { createNodeAnnouncer } from './node-changes.ts';
import { earlyLabels } from './node-labels.ts';
import { desiredTaints, noExecuteFor, type NoExecuteChange } from './node-taints.ts';
import { PodReadiness } from './pod-readiness.ts';
import { createQuietPeriods, type QuietPeriods } from './quiet-periods.ts';
import { zoneRates } from './zones.ts';

const ACCOUNT = 'node-controller';
const NAME = 'node-lifecycle-controller';
const LEASES = 'kube-node-lease';
const STARTUP_GRACE_MS = 60_000;

export function createNodeLifecycleController(deps: ControllerDeps): Controller {
  return new NodeLifecycleController(deps);
}

/** Upstream: nodelifecycle.Controller. */
class NodeLifecycleController implements Controller {
  readonly name = NAME;
  readonly #deps: ControllerDeps;
  readonly #clock: Clock;
  readonly #nodeClient: ResourceClient<Node>;
  readonly #podStatus: PodReadiness;
  readonly #announce: (nodes: readonly Stored<Node>[]) => void;
  readonly #log: Log;
  readonly #nodes: Informer<Node>;
  readonly #pods: Informer<Pod>;
  readonly #leases: Informer<Lease>;
  readonly #metrics: NodeLifecycleMetrics;
  readonly #health: Map<string, NodeHealth>;
  readonly #buckets: Map<string, TokenBucket>;
  /** The nodes that the last round found healthy: while they and their leases are unchanged, there is nothing to do. */
  #calm: ReadonlySet<Node>;
  readonly #loop: KeyedLoop;
  readonly #periodMs: number;
  readonly #periods: QuietPeriods;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    this.#clock = deps.platform.clock;
    const client = deps.clientFor(ACCOUNT);
    const recorder = deps.recorderFor(ACCOUNT);
    this.#nodeClient = client.resource(Nodes);
    this.#announce = createNodeAnnouncer(recorder);
    this.#log = deps.platform.log.child(NAME);
    this.#nodes = deps.informers.informer(Nodes);
    this.#pods = deps.informers.informer(Pods);
    this.#podStatus = new PodReadiness({ client, clock: this.#clock, pods: this.#pods, recorder });
    this.#leases = deps.informers.informer(Leases, { namespace: LEASES });
    this.#metrics = createNodeLifecycleMetrics(deps.platform.metrics);
    this.#health = new Map<string, NodeHealth>();
    this.#buckets = new Map<string, TokenBucket>();
    this.#calm = new Set();
    this.#loop = createKeyedLoop(deps, {
      name: NAME,
      queueName: 'node_lifecycle_controller',
      workers: 4,
      informers: informerList(this.#nodes, this.#pods, this.#leases),
      sync: (name, signal) => this.#sync(name, signal),
    });
    this.#periodMs = deps.config.nodeMonitorPeriodMs ?? NODE_MONITOR_PERIOD_MS;
    this.#periods = createQuietPeriods(this.#clock, this.#periodMs, () => this.#quietMs());
    this.#addHandlers();
  }

  /** Writes condition taints as soon as the node's status changes. */
  async #sync(name: string, signal: AbortSignal): Promise<void> {
    const node = this.#nodes.get({ name });
    if (node === undefined) return;
    await this.#writeTaints(node, isNodeReady(node) ? 'clear' : 'keep', signal);
    const labels = earlyLabels(node);
    if (labels === undefined) return;
    const patch = { metadata: { uid: node.metadata.uid, labels } };
    await this.#nodeClient.patch({ name }, { type: 'merge', patch }, { signal }).catch(ignoreNotFound);
  }

  /** Resolves to whether anything was written. */
  async #writeTaints(node: Stored<Node>, change: NoExecuteChange, signal: AbortSignal): Promise<boolean> {
    const name = node.metadata.name;
    let current = node;
    let written = false;
    await retryOnConflict(
      this.#clock,
      async () => {
        const taints = desiredTaints(current, change, this.#clock.nowMs());
        if (deepEqual(taints, current.spec?.taints ?? [])) return;
        const patch = {
          metadata: { resourceVersion: current.metadata.resourceVersion },
          spec: { taints: taints.length === 0 ? null : taints },
        };
        try {
          await this.#nodeClient.patch({ name }, { type: 'merge', patch }, { signal });
          written = true;
        } catch (error) {
          if (isReason(error, 'NotFound')) return;
          if (isReason(error, 'Conflict')) current = await this.#nodeClient.get({ name }, { signal });
          throw error;
        }
      },
      signal,
    );
    return written;
  }

  async #round(signal: AbortSignal): Promise<void> {
    const all = this.#nodes.list();
    if (this.#isCalm(all) && all.every((node) => this.#isAlive(node))) return;
    this.#calm = new Set();
    this.#announce(all);
    const startedMs = this.#clock.monotonicMs();
    const names = new Set(all.map((node) => node.metadata.name));
    for (const name of this.#health.keys()) if (!names.has(name)) this.#health.delete(name);
    const checked: Stored<Node>[] = [];
    for (const node of all) {
      const checkStartMs = this.#clock.monotonicMs();
      try {
        checked.push(await this.#tryUpdateNodeHealth(node, signal));
        this.#metrics.healthChecked((this.#clock.monotonicMs() - checkStartMs) / 1000);
      } catch (error) {
        if (!isReason(error, 'NotFound')) checked.push(node);
        if (!signal.aborted) this.#log.warn('monitoring a node failed', { node: node.metadata.name, err: error });
      }
    }
    await this.#taintForEviction(checked, signal);
    this.#metrics.round(checked, (this.#clock.monotonicMs() - startedMs) / 1000);
    if (checked.length === all.length && checked.every((node, at) => node === all[at] && isWell(node)))
      this.#calm = new Set(checked);
  }

  /** Whether these are the nodes that the last round found healthy. */
  #isCalm(all: readonly Node[]): boolean {
    return all.length === this.#calm.size && all.every((node) => this.#calm.has(node));
  }

  /** Whether the last heartbeat or lease renewal is within the grace period. */
  #isAlive(node: Stored<Node>): boolean {
    return this.#clock.monotonicMs() <= this.#graceEndMs(node);
  }

  /** Records a new heartbeat or lease renewal. Returns the end of its grace period. */
  #graceEndMs(node: Stored<Node>): number {
    const name = node.metadata.name;
    const lease = this.#leases.get({ namespace: LEASES, name });
    const old = this.#health.get(name);
    const health = observeNode(old, node, { lease, nowMs: this.#clock.monotonicMs() });
    if (health !== old) this.#health.set(name, health);
    const graceMs =
      nodeCondition(node, 'Ready') === undefined
        ? STARTUP_GRACE_MS
        : (this.#deps.config.nodeMonitorGracePeriodMs ?? NODE_MONITOR_GRACE_MS);
    return health.probeTimestampMs + graceMs;
  }

  /** How long no node can exceed its grace period; 0 while not all nodes are healthy. */
  #quietMs(): number {
    const all = this.#nodes.list();
    if (!this.#isCalm(all)) return 0;
    return all.reduce((first, node) => Math.min(first, this.#graceEndMs(node)), Infinity) - this.#clock.monotonicMs();
  }

  /** Updates the conditions of a silent node and marks its pods NotReady; returns the updated node. */
  async #tryUpdateNodeHealth(node: Stored<Node>, signal: AbortSignal): Promise<Stored<Node>> {
    let current = node;
    if (!this.#isAlive(node)) {
      const conditions = silentConditions(node, this.#clock.nowMs());
      if (conditions !== (node.status?.conditions ?? conditions) || node.status?.conditions === undefined) {
        const name = node.metadata.name;
        const silentMs = this.#clock.monotonicMs() - (this.#health.get(name)?.probeTimestampMs ?? 0);
        this.#log.info('node has not been updated, marking it Unknown', { node: name, silentMs });
        current = await this.#nodeClient.updateStatus({ ...node, status: { ...node.status, conditions } }, { signal });
      }
    }
    await this.#podStatus.markPodsNotReady(current, isNodeReady(node), signal);
    return current;
  }

  /** Adds NoExecute taints at each zone's rate; none when every zone is down. */
  async #taintForEviction(all: readonly Stored<Node>[], signal: AbortSignal): Promise<void> {
    const { rates, allDown } = zoneRates(all);
    for (const [zone, rate] of rates) this.#bucketOf(zone).setRate(rate);
    for (const node of all) {
      const key = noExecuteFor(node);
      if (key === undefined || nodeCondition(node, 'Ready') === undefined) continue;
      if (allDown) await this.#writeTaints(node, 'clear', signal);
      else if (this.#mayTaint(node, rates.get(zoneKeyOf(node)) ?? 0)) {
        const written = await this.#writeTaints(node, key, signal);
        if (written && !isBeingEmptied(node)) this.#metrics.evicted(zoneKeyOf(node));
      }
    }
  }

  #mayTaint(node: Node, rate: number): boolean {
    // An existing NoExecute taint may always be replaced by the other one.
    return isBeingEmptied(node) || (rate > 0 && this.#bucketOf(zoneKeyOf(node)).tryTake());
  }

  #bucketOf(zone: string): TokenBucket {
    let bucket = this.#buckets.get(zone);
    if (bucket === undefined)
      this.#buckets.set(zone, (bucket = createTokenBucket(this.#clock, { perSecond: 0.1, burst: 1 })));
    return bucket;
  }

  #changed(node: Stored<Node>): void {
    this.#loop.queue.add(node.metadata.name);
    this.#periods.disturb();
  }

  #leaseRenewed({ metadata: { name } }: Stored<Lease>): void {
    const node = this.#nodes.get({ name });
    if (node !== undefined) this.#graceEndMs(node);
  }

  async start(signal: AbortSignal): Promise<void> {
    const { rest } = this.#periods;
    const monitor = {
      name: NAME,
      periodMs: this.#periodMs,
      informers: informerList(this.#nodes, this.#pods, this.#leases),
      round: (roundSignal: AbortSignal) => this.#round(roundSignal),
      rest,
    };
    await Promise.all([this.#loop.start(signal), runPeriodically(this.#deps, monitor, signal)]);
  }

  #addHandlers(): void {
    this.#nodes.addHandler({
      onAdd: (node) => this.#changed(node),
      onUpdate: (_, node) => this.#changed(node),
      onDelete: (node) => {
        this.#health.delete(node.metadata.name);
        this.#periods.disturb();
      },
    });
    this.#leases.addHandler({
      onAdd: (object) => this.#leaseRenewed(object),
      onUpdate: (_, lease) => this.#leaseRenewed(lease),
    });
  }
}

/** Whether it already has a NoExecute taint by its readiness. */
function isBeingEmptied(node: Node): boolean {
  return (node.spec?.taints ?? []).some(
    (taint) => taint.effect === 'NoExecute' && /not-ready|unreachable/.test(taint.key),
  );
}

/** A ready node without such a taint. */
function isWell(node: Node): boolean {
  return isNodeReady(node) && node.spec?.taints?.some(({ effect }) => effect === 'NoExecute') !== true;
}
