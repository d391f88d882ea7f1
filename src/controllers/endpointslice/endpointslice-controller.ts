/**
 * Keeps the EndpointSlices of Services with selectors. Upstream: pkg/controller/endpointslice.
 *
 * Watches: Services, pods, nodes (for zones), EndpointSlices. Writes alone: the slices labelled as managed by it.
 * After a write it waits until its cache shows the result, so that it never acts twice on the same state.
 */
import { EndpointSlices, Nodes, Pods, Services } from '../../api/gen/resources.ts';
import { isReason } from '../../api/status-error.ts';
import type { EndpointSlice } from '../../api/gen/discovery-v1.ts';
import type { Node, Pod, Service } from '../../api/gen/core-v1.ts';
import { stepByStep, type Steps } from '../../base/steps.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { isNodeReady, zoneOf } from '../../component-helpers/nodes.ts';
import { createBatchPeriods, type BatchPeriods } from '../batch-period.ts';
import {
  canBeEndpoint,
  createTriggerTimes,
  hasManagedEndpoints,
  selectedPods,
  watchServicesAndPods,
  type TriggerTimes,
} from '../service-endpoints.ts';
import { createEndpointSliceMetrics, type EndpointSliceMetrics } from '../endpoint-slice-metrics.ts';
import {
  createKeyedLoop,
  informerList,
  isNamespaceTerminating,
  type Controller,
  type ControllerDeps,
  type KeyedLoop,
} from '../controller.ts';
import { createSyncMetrics, type SyncMetrics } from './sync-metrics.ts';
import { addressTypesOf, desiredGroups, isLost, type AddressType } from './desired-endpoints.ts';
import { MANAGED_BY_LABEL, MANAGER, planSlices, SERVICE_NAME_LABEL, type SlicePlan } from './slice-plan.ts';
import {
  addTopologyHints,
  HINTS_CHANGED,
  wantsTopologyHints,
  zoneShares,
  type TopologyVerdict,
} from './topology-hints.ts';
import type { ResourceClient } from '../../client/client.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import type { Informer } from '../../client/informer.ts';

const ACCOUNT = 'endpointslice-controller';
const WORKERS = 5;
const ADDRESS_TYPES: readonly AddressType[] = ['IPv4', 'IPv6'];
const BY_SERVICE = 'managed-by-service';

/**
 * The error for a pod whose node is unknown. The sync is retried: the pod is deleted with its node, or the node
 * appears.
 */
function skippedPodMessage({ metadata }: Service, pod: Pod): string {
  const service = `${metadata.namespace}/${metadata.name}`;
  return `skipping Pod ${pod.metadata.name} for Service ${service}: Node ${pod.spec?.nodeName ?? ''} Not Found`;
}

function serviceKeyOf(slice: EndpointSlice): string | undefined {
  const labels = slice.metadata.labels ?? {};
  if (labels[MANAGED_BY_LABEL] !== MANAGER || labels[SERVICE_NAME_LABEL] === undefined) return undefined;
  return `${slice.metadata.namespace}/${labels[SERVICE_NAME_LABEL]}`;
}

export function createEndpointSliceController(deps: ControllerDeps): Controller {
  return new EndpointSliceController(deps).loop;
}

/** Upstream: endpointslice.Controller. */
class EndpointSliceController {
  readonly #platform: ControllerDeps['platform'];
  readonly #client: ResourceClient<EndpointSlice>;
  readonly #recorder: EventRecorder;
  readonly #services: Informer<Service>;
  readonly #pods: Informer<Pod>;
  readonly #nodes: Informer<Node>;
  readonly #slices: Informer<EndpointSlice>;
  readonly #metrics: EndpointSliceMetrics;
  readonly #syncs: SyncMetrics;
  readonly #triggers: TriggerTimes;
  readonly #periods: BatchPeriods;
  /** The last event about a service's hints, by key and address type. */
  readonly #topology: Map<string, string>;
  readonly loop: KeyedLoop;

  constructor(deps: ControllerDeps) {
    this.#platform = deps.platform;
    this.#client = deps.clientFor(ACCOUNT).resource(EndpointSlices);
    this.#recorder = deps.recorderFor('endpoint-slice-controller');
    this.#services = deps.informers.informer(Services);
    this.#pods = deps.informers.informer(Pods);
    this.#nodes = deps.informers.informer(Nodes);
    this.#slices = deps.informers.informer(EndpointSlices);
    this.#metrics = createEndpointSliceMetrics(deps.platform.metrics, 'endpoint_slice_controller');
    this.#syncs = createSyncMetrics(deps.platform.metrics);
    this.#triggers = createTriggerTimes();
    this.#periods = createBatchPeriods();
    this.#topology = new Map<string, string>();
    this.loop = createKeyedLoop(deps, {
      name: 'endpointslice-controller',
      queueName: 'endpoint_slice',
      workers: WORKERS,
      informers: informerList(this.#services, this.#pods, this.#nodes, this.#slices),
      sync: (key, signal) => this.#countedSync(key, signal),
      maxRetries: 15,
    });
    this.#addHandlers();
  }

  #shares(): ReturnType<typeof zoneShares> {
    return zoneShares(this.#nodes.list());
  }

  async #countedSync(key: string, signal: AbortSignal): Promise<void> {
    let result: 'success' | 'error' = 'error';
    try {
      await this.#syncService(key, signal);
      result = 'success';
    } finally {
      this.#syncs.synced(result);
    }
  }

  #forget(key: string): void {
    this.#metrics.forget(key);
    this.#syncs.forget(key);
  }

  async #syncService(key: string, signal: AbortSignal): Promise<void> {
    const service = this.#services.get(parseKey(key));
    // The slices of a deleted Service go by owner reference.
    if (service === undefined) {
      for (const type of ADDRESS_TYPES) this.#topology.delete(`${key}/${type}`);
      this.#forget(key);
      this.#periods.forget(key);
      return this.#triggers.forget(key);
    }
    if (!hasManagedEndpoints(service) || service.metadata.deletionTimestamp !== undefined) return this.#forget(key);
    const selected = await selectedPods(service, this.#pods, () => this.#platform.clock.yield());
    this.#periods.saw(key, selected.length);
    const triggerTime = this.#triggers.since(service, selected);
    const existing = this.#slices
      .byIndex(BY_SERVICE, key)
      .filter((slice) => slice.metadata.deletionTimestamp === undefined);
    const types = addressTypesOf(service);
    const nodeOf = (name: string): Node | undefined => (name === '' ? undefined : this.#nodes.get({ name }));
    for (const type of types) {
      const groups = await this.#inTurns(desiredGroups(service, selected, { type, nodeOf }));
      if (wantsTopologyHints(service))
        this.#recordTopology(service, type, addTopologyHints(groups.values(), this.#shares()));
      else this.#recordTopologyEnded(service, type);
      const ofType = existing.filter((slice) => slice.addressType === type);
      const plan = await this.#inTurns(planSlices({ service, type, existing: ofType, groups, triggerTime }));
      await this.#apply(service, plan, signal);
      await this.#inTurns(this.#metrics.changed({ key: `${key} ${type}`, existing: ofType, ...plan }));
      const written = plan.create.length + plan.update.length + plan.remove.length;
      this.#syncs.wrote(service, written, wantsTopologyHints(service));
    }
    const obsolete = existing.filter((slice) => !(types as string[]).includes(slice.addressType));
    await this.#apply(service, { create: [], update: [], remove: obsolete }, signal);
    for (const type of ADDRESS_TYPES) if (!types.includes(type)) this.#metrics.forget(key, type);
    const lost = selected.find((pod) => canBeEndpoint(pod, true) && isLost(service, pod, nodeOf));
    if (lost !== undefined) this.#complain(service, new Error(skippedPodMessage(service, lost)));
  }

  #inTurns<T>(steps: Steps<T>): T | Promise<T> {
    return stepByStep(steps, () => this.#platform.clock.yield());
  }

  #complain(service: Service, error: Error): never {
    this.#recorder.event(
      service,
      'Warning',
      'FailedToUpdateEndpointSlices',
      `Error updating Endpoint Slices for Service ${keyOfObject(service)}: ${error.message}`,
    );
    throw error;
  }

  /** Records that hints were removed because they are no longer requested. */
  #recordTopologyEnded(service: Service, type: AddressType): void {
    const key = `${keyOfObject(service)}/${type}`;
    const hadHints = this.#topology.get(key) === HINTS_CHANGED;
    this.#topology.delete(key);
    if (!hadHints) return;
    const text = `Topology Aware Hints has been disabled, addressType: ${type}`;
    this.#recorder.event(service, 'Warning', 'TopologyAwareHintsDisabled', text);
  }

  /** Records when hints are added or removed, and when another reason prevents them. */
  #recordTopology(service: Service, type: AddressType, { enabled, message }: TopologyVerdict): void {
    const key = `${keyOfObject(service)}/${type}`;
    if (this.#topology.get(key) === message) return;
    this.#topology.set(key, message);
    const text = `${message}, addressType: ${type}`;
    if (enabled) this.#recorder.event(service, 'Normal', 'TopologyAwareHintsEnabled', text);
    else this.#recorder.event(service, 'Warning', 'TopologyAwareHintsDisabled', text);
  }

  async #apply(service: Service, plan: SlicePlan, signal: AbortSignal): Promise<void> {
    const written: (string | undefined)[] = [];
    try {
      for (const slice of plan.create)
        written.push((await this.#client.create(slice, { signal })).metadata.resourceVersion);
      for (const slice of plan.update)
        written.push((await this.#client.update(slice, { signal })).metadata.resourceVersion);
      for (const slice of plan.remove) await this.#remove(slice, signal);
    } catch (error) {
      if (isNamespaceTerminating(error)) return;
      if (!signal.aborted && !isReason(error, 'Conflict')) this.#complain(service, error as Error);
      throw error;
    } finally {
      for (const revision of written) if (revision !== undefined) await this.#slices.waitForRevision(revision, signal);
    }
  }

  async #remove(slice: EndpointSlice, signal: AbortSignal): Promise<void> {
    try {
      const { uid } = slice.metadata;
      await this.#client.delete(parseKey(keyOfObject(slice)), {
        signal,
        preconditions: { uid },
      });
    } catch (error) {
      if (!isReason(error, 'NotFound')) throw error;
    }
  }

  #enqueueInTime(key: string): void {
    this.loop.queue.addAfter(key, this.#periods.ms(key));
  }

  // Most events are of the controller's own writes and need no immediate sync. Upstream waits a second
  // (endpointSliceChangeMinSyncDelay).
  #onSlice(slice: EndpointSlice): void {
    const key = serviceKeyOf(slice);
    if (key !== undefined) this.#enqueueInTime(key);
  }

  #enqueueAll(which: (service: Service) => boolean = () => true): void {
    for (const service of this.#services.list()) if (which(service)) this.loop.queue.add(keyOfObject(service));
  }

  #sameShare(a: Node, b: Node): boolean {
    return isNodeReady(a) === isNodeReady(b) && a.status?.allocatable?.['cpu'] === b.status?.allocatable?.['cpu'];
  }

  #addHandlers(): void {
    this.#slices.addIndex(BY_SERVICE, (slice) => {
      const key = serviceKeyOf(slice);
      return key === undefined ? [] : [key];
    });
    watchServicesAndPods({
      platform: this.#platform,
      services: this.#services,
      pods: this.#pods,
      enqueue: (key) => this.loop.queue.add(key),
      enqueueForPod: (key) => this.#enqueueInTime(key),
    });
    this.#slices.addHandler({
      onAdd: (slice) => this.#onSlice(slice),
      onUpdate: (old, slice) => {
        this.#onSlice(old);
        this.#onSlice(slice);
      },
      onDelete: (slice) => this.#onSlice(slice),
    });
    this.#nodes.addHandler({
      onAdd: () => this.#enqueueAll(),
      onUpdate: (old, node) => {
        if (zoneOf(old) !== zoneOf(node)) this.#enqueueAll();
        else if (!this.#sameShare(old, node)) this.#enqueueAll(wantsTopologyHints);
      },
      onDelete: () => this.#enqueueAll(wantsTopologyHints),
    });
  }
}
