/**
 * Registers the node and keeps its status in the API: at once when something changed, else every 5 minutes. Upstream:
 * syncNodeStatus, registerWithAPIServer and tryUpdateNodeStatus in pkg/kubelet/kubelet_node_status.go.
 *
 * One update runs at a time; a trigger during one causes one more. Upstream only looks every 10 s.
 */
import { onAbort } from '../../base/abort.ts';
import { createBackoff } from '../../base/backoff.ts';
import { deepEqual } from '../../base/equal.ts';
import type { Node, NodeStatus } from '../../api/gen/core-v1.ts';
import { Nodes } from '../../api/gen/resources.ts';
import { isReason } from '../../api/status-error.ts';
import type { Client } from '../../client/client.ts';
import type { KubeletEventReason, KubeletEventRecorder } from '../event-reasons.ts';
import type { CancelTimer } from '../../platform/clock.ts';
import type { KubeletConfiguration } from '../kubelet-configuration.ts';
import { strategicDiff } from '../status/status-patch.ts';
import { collectNodeFacts, type NodeFacts, type NodeFactsDeps } from './node-facts.ts';
import { initialNode, reconcileExistingNode } from './registration.ts';
import { applyNodeStatusSetters } from './setters.ts';
import { background } from '../../platform/unexpected.ts';

export interface NodeStatusManager {
  start(signal: AbortSignal): void;
  /** Looks now whether something changed. */
  trigger(): void;
  /** The newest Node object known; undefined before registration. */
  node(): Node | undefined;
  /** Told by the informer. */
  nodeSeen(node: Node): void;
  /** The Node object was deleted: it is registered anew. */
  nodeGone(): void;
  /** Resolves at the first status that was written. */
  readonly registered: Promise<void>;
}

export interface NodeStatusManagerDeps extends NodeFactsDeps {
  readonly client: Client;
  readonly recorder: KubeletEventRecorder;
  readonly onPodCidr: (cidr: string) => void;
}

const MERGE_KEYS = { conditions: 'type' };

/** What is told of a condition that has become true, and of one that is no longer. */
const CONDITION_EVENTS: Readonly<Record<string, readonly [KubeletEventReason, KubeletEventReason]>> = {
  Ready: ['NodeReady', 'NodeNotReady'],
  MemoryPressure: ['NodeHasInsufficientMemory', 'NodeHasSufficientMemory'],
  DiskPressure: ['NodeHasDiskPressure', 'NodeHasNoDiskPressure'],
  PIDPressure: ['NodeHasInsufficientPID', 'NodeHasSufficientPID'],
};

function withoutHeartbeats(status: NodeStatus): NodeStatus {
  return { ...status, conditions: (status.conditions ?? []).map(({ lastHeartbeatTime: _beat, ...rest }) => rest) };
}

/** Whether the status says something new. */
export function nodeStatusHasChanged(before: NodeStatus, after: NodeStatus): boolean {
  return !deepEqual(withoutHeartbeats(before), withoutHeartbeats(after));
}

/** The patch of a node's status. Addresses are replaced whole: several may bear one type. */
export function nodeStatusPatch(before: NodeStatus, after: NodeStatus): object | undefined {
  const { addresses: oldAddresses, ...old } = before;
  const { addresses, ...rest } = after;
  const changes = strategicDiff(old as Record<string, unknown>, rest as Record<string, unknown>, MERGE_KEYS);
  if (!deepEqual(oldAddresses ?? [], addresses ?? []))
    changes['addresses'] = [{ $patch: 'replace' }, ...(addresses ?? [])];
  return Object.keys(changes).length === 0 ? undefined : { status: changes };
}

/** Whether nothing was found out but the time. */
function sameFacts(before: NodeFacts, now: NodeFacts): boolean {
  const names = Object.keys(now) as (keyof NodeFacts)[];
  return names.every((name) => name === 'nowMs' || deepEqual(before[name], now[name]));
}

export function createNodeStatusManager(deps: NodeStatusManagerDeps, config: KubeletConfiguration): NodeStatusManager {
  const { clock } = deps.platform;
  const log = deps.platform.log.child('node-status');
  const nodes = deps.client.resource(Nodes);
  const backoff = createBackoff({ initialMs: 100, maxMs: 7_000 });
  const registered = Promise.withResolvers<void>();
  let current: Node | undefined;
  let isRegistered = !config.registerNode;
  let lastReportMs = Number.NEGATIVE_INFINITY;
  let running: AbortSignal | undefined;
  let updating = false;
  let again = false;
  let cancelTimer: CancelTimer | undefined;
  let podCidr = '';
  /** What the status was last found to say already: of equal facts and the same object it need not be made again. */
  let settled: { readonly node: Node; readonly facts: NodeFacts } | undefined;

  function take(node: Node): void {
    if (
      current !== undefined &&
      current.metadata.uid === node.metadata.uid &&
      Number(node.metadata.resourceVersion) < Number(current.metadata.resourceVersion)
    )
      return;
    recordSchedulable(node, current);
    current = node;
    const cidr = node.spec?.podCIDRs?.join(',') ?? node.spec?.podCIDR ?? '';
    if (cidr !== '' && cidr !== podCidr) {
      podCidr = cidr;
      deps.onPodCidr(cidr);
    }
  }

  async function register(facts: NodeFacts): Promise<void> {
    const wanted = initialNode(facts, applyNodeStatusSetters({}, facts));
    try {
      take(await nodes.create(wanted));
      log.info('Successfully registered node', { node: config.nodeName });
    } catch (error) {
      if (!isReason(error, 'AlreadyExists')) throw error;
      let existing = await nodes.get({ name: config.nodeName });
      const patch = reconcileExistingNode(facts, existing);
      if (patch !== undefined) existing = await nodes.patch({ name: config.nodeName }, { type: 'strategic', patch });
      take(existing);
      log.info('Node was previously registered', { node: config.nodeName });
    }
    isRegistered = true;
  }

  async function update(): Promise<void> {
    const facts = await collectNodeFacts(deps, config);
    if (!isRegistered) await register(facts);
    // An informer's copy may lag; a patch against it still only carries what differs from what is wanted.
    const node = current ?? (await nodes.get({ name: config.nodeName }));
    take(node);
    const isDue = clock.monotonicMs() - lastReportMs >= config.nodeStatusReportFrequencyMs;
    if (!isDue && settled?.node === node && sameFacts(settled.facts, facts)) return;
    const status = applyNodeStatusSetters(node.status ?? {}, facts);
    const changed = nodeStatusHasChanged(node.status ?? {}, status);
    settled = changed ? undefined : { node, facts };
    if (changed || isDue) await report(node, status);
    recordChanges(node, status);
    registered.resolve();
  }

  async function report(node: Node, status: NodeStatus): Promise<void> {
    const patch = nodeStatusPatch(node.status ?? {}, status);
    if (patch !== undefined) {
      take(
        await nodes.patch(
          { name: config.nodeName },
          { type: 'strategic', patch },
          { subresource: 'status', fieldManager: 'kubelet' },
        ),
      );
    }
    lastReportMs = clock.monotonicMs();
  }

  function record(node: Node, type: 'Normal' | 'Warning', of: { reason: KubeletEventReason; message?: string }): void {
    const target = { apiVersion: 'v1', kind: 'Node', name: config.nodeName, uid: node.metadata.uid ?? config.nodeName };
    deps.recorder.event(target, type, of.reason, of.message ?? `Node ${config.nodeName} status is now: ${of.reason}`);
  }

  /** Only a change of what the API has is an event: neither the first report of a node nor a restart of its kubelet is. */
  function recordChanges(node: Node, status: NodeStatus): void {
    for (const [type, [whenTrue, otherwise]] of Object.entries(CONDITION_EVENTS)) {
      const [before, now] = [node.status, status].map(
        (of) => of?.conditions?.find((condition) => condition.type === type)?.status,
      );
      if (before === undefined || before === now) continue;
      record(node, 'Normal', { reason: now === 'True' ? whenTrue : otherwise });
    }
    const [before, now] = [node.status?.nodeInfo?.bootID ?? '', status.nodeInfo?.bootID ?? ''];
    if (before === '' || before === now) return;
    const message = `Node ${config.nodeName} has been rebooted, boot id: ${now}`;
    record(node, 'Warning', { reason: 'Rebooted', message });
  }

  /** Cordoned or let go, by whomever. */
  function recordSchedulable(node: Node, before: Node | undefined): void {
    const [was, is] = [before?.spec?.unschedulable ?? false, node.spec?.unschedulable ?? false];
    if (before === undefined || before.metadata.uid !== node.metadata.uid || was === is) return;
    record(node, 'Normal', { reason: is ? 'NodeNotSchedulable' : 'NodeSchedulable' });
  }

  async function loop(): Promise<void> {
    updating = true;
    cancelTimer?.();
    let delayMs = config.nodeStatusUpdateFrequencyMs;
    do {
      again = false;
      try {
        await update();
        backoff.reset();
      } catch (error) {
        if (isReason(error, 'NotFound')) {
          // Someone deleted the node: register anew.
          isRegistered = !config.registerNode;
          current = undefined;
        }
        log.error('Unable to update node status, will retry', { node: config.nodeName, err: error });
        delayMs = Math.min(backoff.nextMs(), config.nodeStatusUpdateFrequencyMs);
      }
    } while (again && running?.aborted === false);
    updating = false;
    if (running?.aborted === false)
      cancelTimer = clock.setTimer(delayMs, () => background(log, 'the node status could not be updated', loop()));
  }

  function trigger(): void {
    if (running === undefined || running.aborted) return;
    if (updating) again = true;
    else background(log, 'the node status could not be updated', loop());
  }

  return {
    registered: registered.promise,
    start(signal) {
      running = signal;
      onAbort(signal, () => cancelTimer?.());
      background(log, 'the node status could not be updated', loop());
    },
    trigger,
    node: () => current,
    nodeSeen: take,
    nodeGone() {
      isRegistered = !config.registerNode;
      current = undefined;
      trigger();
    },
  };
}
