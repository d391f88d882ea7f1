/**
 * Registers the node and keeps its status in the API: written at once after a change, else every 5 minutes. Upstream:
 * syncNodeStatus, registerWithAPIServer, setNodeStatus and tryUpdateNodeStatus in pkg/kubelet/kubelet_node_status.go.
 *
 * One update runs at a time; a trigger during one causes one more. Upstream checks for changes every 10 s.
 */
import { onAbort } from '../../base/abort.ts';
import { createBackoff } from '../../base/backoff.ts';
import type { Node, NodeStatus } from '../../api/gen/core-v1.ts';
import { Nodes } from '../../api/gen/resources.ts';
import { isReason } from '../../api/status-error.ts';
import type { Client, ResourceClient } from '../../client/client.ts';
import type { Log } from '../../platform/log.ts';
import type { KubeletEventRecorder, NodeStatusReason } from '../event-reasons.ts';
import type { CancelTimer } from '../../platform/clock.ts';
import type { KubeletConfiguration } from '../kubelet-configuration.ts';
import { collectNodeFacts, type NodeFacts, type NodeFactsDeps } from './node-facts.ts';
import { initialNode, reconcileExistingNode } from './registration.ts';
import { applyNodeStatusSetters } from './setters.ts';
import { background } from '../../platform/unexpected.ts';
import { nodeStatusHasChanged, nodeStatusPatch, sameFacts } from './node-status-patch.ts';

export interface NodeStatusManager {
  start(signal: AbortSignal): void;
  /** Updates the status now, if something changed. */
  trigger(): void;
  /** The newest Node object; undefined before registration. */
  node(): Node | undefined;
  /** The informer has this version of the node. */
  nodeSeen(node: Node): void;
  /** The Node object was deleted: registers it again. */
  nodeGone(): void;
  /** Resolves after the first update of the status. */
  readonly registered: Promise<void>;
}

export interface NodeStatusManagerDeps extends NodeFactsDeps {
  readonly client: Client;
  readonly recorder: KubeletEventRecorder;
  readonly onPodCidr: (cidr: string) => void;
}

/** The events when a condition becomes true and when it stops being true. */
const CONDITION_EVENTS: Readonly<Record<string, readonly [NodeStatusReason, NodeStatusReason]>> = {
  Ready: ['NodeReady', 'NodeNotReady'],
  MemoryPressure: ['NodeHasInsufficientMemory', 'NodeHasSufficientMemory'],
  DiskPressure: ['NodeHasDiskPressure', 'NodeHasNoDiskPressure'],
  PIDPressure: ['NodeHasInsufficientPID', 'NodeHasSufficientPID'],
};

export function createNodeStatusManager(deps: NodeStatusManagerDeps, config: KubeletConfiguration): NodeStatusManager {
  return new NodeStatusReporter(deps, config);
}

class NodeStatusReporter implements NodeStatusManager {
  readonly #deps: NodeStatusManagerDeps;
  readonly #config: KubeletConfiguration;
  readonly #log: Log;
  readonly #nodes: ResourceClient<Node>;
  readonly #backoff = createBackoff({ initialMs: 100, maxMs: 7_000 });
  readonly #firstUpdate = Promise.withResolvers<void>();
  readonly registered = this.#firstUpdate.promise;
  #node: Node | undefined;
  #isRegistered: boolean;
  #lastReportMs = Number.NEGATIVE_INFINITY;
  #lifetime: AbortSignal | undefined;
  #updating = false;
  #updateAgain = false;
  #cancelTimer: CancelTimer | undefined;
  #podCidr = '';
  /** The facts for which the node's status was last found up to date: with the same facts it is not computed again. */
  #reportedFacts: { readonly node: Node; readonly facts: NodeFacts } | undefined;

  constructor(deps: NodeStatusManagerDeps, config: KubeletConfiguration) {
    this.#deps = deps;
    this.#config = config;
    this.#log = deps.platform.log.child('node-status');
    this.#nodes = deps.client.resource(Nodes);
    this.#isRegistered = !config.registerNode;
  }

  nodeSeen(node: Node): void {
    if (
      this.#node !== undefined &&
      this.#node.metadata.uid === node.metadata.uid &&
      Number(node.metadata.resourceVersion) < Number(this.#node.metadata.resourceVersion)
    )
      return;
    this.#recordSchedulable(node, this.#node);
    this.#node = node;
    const cidr = node.spec?.podCIDRs?.join(',') ?? node.spec?.podCIDR ?? '';
    if (cidr !== '' && cidr !== this.#podCidr) {
      this.#podCidr = cidr;
      this.#deps.onPodCidr(cidr);
    }
  }

  trigger(): void {
    if (this.#lifetime === undefined || this.#lifetime.aborted) return;
    if (this.#updating) this.#updateAgain = true;
    else background(this.#log, 'the node status could not be updated', this.#syncNodeStatus());
  }

  start(signal: AbortSignal): void {
    this.#lifetime = signal;
    onAbort(signal, () => this.#cancelTimer?.());
    background(this.#log, 'the node status could not be updated', this.#syncNodeStatus());
  }

  node(): Node | undefined {
    return this.#node;
  }

  nodeGone(): void {
    this.#isRegistered = !this.#config.registerNode;
    this.#node = undefined;
    this.trigger();
  }

  async #register(facts: NodeFacts): Promise<void> {
    const node = initialNode(facts, applyNodeStatusSetters({}, facts));
    try {
      this.nodeSeen(await this.#nodes.create(node));
      this.#log.info('Successfully registered node', { node: this.#config.nodeName });
    } catch (error) {
      if (!isReason(error, 'AlreadyExists')) throw error;
      let existing = await this.#nodes.get({ name: this.#config.nodeName });
      const patch = reconcileExistingNode(facts, existing);
      if (patch !== undefined)
        existing = await this.#nodes.patch({ name: this.#config.nodeName }, { type: 'strategic', patch });
      this.nodeSeen(existing);
      this.#log.info('Node was previously registered', { node: this.#config.nodeName });
    }
    this.#isRegistered = true;
  }

  async #update(): Promise<void> {
    const facts = await collectNodeFacts(this.#deps, this.#config);
    if (!this.#isRegistered) await this.#register(facts);
    // The informer's copy may be old, but the patch has only fields that differ from the desired status.
    const node = this.#node ?? (await this.#nodes.get({ name: this.#config.nodeName }));
    this.nodeSeen(node);
    const isDue =
      this.#deps.platform.clock.monotonicMs() - this.#lastReportMs >= this.#config.nodeStatusReportFrequencyMs;
    if (!isDue && this.#reportedFacts?.node === node && sameFacts(this.#reportedFacts.facts, facts)) return;
    const status = applyNodeStatusSetters(node.status ?? {}, facts);
    const changed = nodeStatusHasChanged(node.status ?? {}, status);
    this.#reportedFacts = changed ? undefined : { node, facts };
    if (changed || isDue) await this.#report(node, status);
    this.#recordChanges(node, status);
    this.#firstUpdate.resolve();
  }

  async #report(node: Node, status: NodeStatus): Promise<void> {
    const patch = nodeStatusPatch(node.status ?? {}, status);
    if (patch !== undefined) {
      this.nodeSeen(
        await this.#nodes.patch(
          { name: this.#config.nodeName },
          { type: 'strategic', patch },
          { subresource: 'status', fieldManager: 'kubelet' },
        ),
      );
    }
    this.#lastReportMs = this.#deps.platform.clock.monotonicMs();
  }

  #recordEvent(node: Node, reason: NodeStatusReason, warning?: string): void {
    const target = {
      apiVersion: 'v1',
      kind: 'Node',
      name: this.#config.nodeName,
      uid: node.metadata.uid ?? this.#config.nodeName,
    };
    this.#deps.recorder.event(
      target,
      warning === undefined ? 'Normal' : 'Warning',
      reason,
      warning ?? `Node ${this.#config.nodeName} status is now: ${reason}`,
    );
  }

  /** Records changes against the API's status: no event at the first report of a node or after a restart of its kubelet. */
  #recordChanges(node: Node, status: NodeStatus): void {
    for (const [type, [whenTrue, otherwise]] of Object.entries(CONDITION_EVENTS)) {
      const [before, now] = [node.status, status].map(
        (nodeStatus) => nodeStatus?.conditions?.find((condition) => condition.type === type)?.status,
      );
      if (before === undefined || before === now) continue;
      this.#recordEvent(node, now === 'True' ? whenTrue : otherwise);
    }
    const [before, now] = [node.status?.nodeInfo?.bootID ?? '', status.nodeInfo?.bootID ?? ''];
    if (before === '' || before === now) return;
    const message = `Node ${this.#config.nodeName} has been rebooted, boot id: ${now}`;
    this.#recordEvent(node, 'Rebooted', message);
  }

  /** Another client has cordoned or uncordoned the node. */
  #recordSchedulable(node: Node, before: Node | undefined): void {
    const wasCordoned = before?.spec?.unschedulable ?? false;
    const isCordoned = node.spec?.unschedulable ?? false;
    if (before === undefined || before.metadata.uid !== node.metadata.uid || wasCordoned === isCordoned) return;
    this.#recordEvent(node, isCordoned ? 'NodeNotSchedulable' : 'NodeSchedulable');
  }

  async #syncNodeStatus(): Promise<void> {
    this.#updating = true;
    this.#cancelTimer?.();
    let delayMs = this.#config.nodeStatusUpdateFrequencyMs;
    do {
      this.#updateAgain = false;
      try {
        await this.#update();
        this.#backoff.reset();
      } catch (error) {
        if (isReason(error, 'NotFound')) {
          // The Node object was deleted: register again.
          this.#isRegistered = !this.#config.registerNode;
          this.#node = undefined;
        }
        if (this.#lifetime?.aborted === true) break;
        this.#log.error('Unable to update node status, will retry', { node: this.#config.nodeName, err: error });
        delayMs = Math.min(this.#backoff.nextMs(), this.#config.nodeStatusUpdateFrequencyMs);
      }
    } while (this.#updateAgain && this.#lifetime?.aborted === false);
    this.#updating = false;
    if (this.#lifetime?.aborted === false)
      this.#cancelTimer = this.#deps.platform.clock.setTimer(delayMs, () =>
        background(this.#log, 'the node status could not be updated', this.#syncNodeStatus()),
      );
  }
}
