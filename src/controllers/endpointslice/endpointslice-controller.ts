/**
 * Keeps the EndpointSlices of Services with selectors. Upstream: pkg/controller/endpointslice.
 *
 * Watches: Services, pods, nodes (for zones), EndpointSlices. Writes alone: the slices labelled as managed by it. After a
 * write it waits until its cache shows it, so that it never acts twice on what it has done.
 */
import { EndpointSlices, Nodes, Pods, Services } from '../../api/gen/resources.ts';
import { isReason } from '../../api/status-error.ts';
import type { EndpointSlice } from '../../api/gen/discovery-v1.ts';
import type { Node, Pod, Service } from '../../api/gen/core-v1.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { isNodeReady, zoneOf } from '../../component-helpers/nodes.ts';
import { createBatchPeriods } from '../batch-period.ts';
import {
  canBeEndpoint,
  createTriggerTimes,
  hasManagedEndpoints,
  selectedPods,
  watchServicesAndPods,
} from '../service-endpoints.ts';
import { createEndpointSliceMetrics } from '../endpoint-slice-metrics.ts';
import {
  createKeyedLoop,
  informerList,
  isNamespaceTerminating,
  type Controller,
  type ControllerDeps,
} from '../controller.ts';
import { createSyncMetrics } from './sync-metrics.ts';
import { addressTypesOf, desiredGroups, isLost, type AddressType } from './desired-endpoints.ts';
import { MANAGED_BY_LABEL, MANAGER, planSlices, SERVICE_NAME_LABEL, type SlicePlan } from './slice-plan.ts';
import {
  giveTopologyHints,
  HINTS_GIVEN,
  wantsTopologyHints,
  zoneShares,
  type TopologyVerdict,
} from './topology-hints.ts';

const ACCOUNT = 'endpointslice-controller';
const WORKERS = 5;
const ADDRESS_TYPES: readonly AddressType[] = ['IPv4', 'IPv6'];
const BY_SERVICE = 'managed-by-service';

/** Looked for again later: the pod goes with its node, or the node is only not seen yet. */
function skipped({ metadata }: Service, pod: Pod): string {
  const service = `${metadata.namespace}/${metadata.name}`;
  return `skipping Pod ${pod.metadata.name} for Service ${service}: Node ${pod.spec?.nodeName ?? ''} Not Found`;
}

function serviceKeyOf(slice: EndpointSlice): string | undefined {
  const labels = slice.metadata.labels ?? {};
  if (labels[MANAGED_BY_LABEL] !== MANAGER || labels[SERVICE_NAME_LABEL] === undefined) return undefined;
  return `${slice.metadata.namespace}/${labels[SERVICE_NAME_LABEL]}`;
}

export function createEndpointSliceController(deps: ControllerDeps): Controller {
  const client = deps.clientFor(ACCOUNT).resource(EndpointSlices);
  const recorder = deps.recorderFor('endpoint-slice-controller');
  const services = deps.informers.informer(Services);
  const pods = deps.informers.informer(Pods);
  const nodes = deps.informers.informer(Nodes);
  const slices = deps.informers.informer(EndpointSlices);
  const metrics = createEndpointSliceMetrics(deps.platform.metrics, 'endpoint_slice_controller');
  const syncs = createSyncMetrics(deps.platform.metrics);
  const triggers = createTriggerTimes();
  const periods = createBatchPeriods();
  /** What was said of a service's hints last, by key and address type. */
  const topology = new Map<string, string>();
  const shares = (): ReturnType<typeof zoneShares> => zoneShares(nodes.list());
  slices.addIndex(BY_SERVICE, (slice) => {
    const key = serviceKeyOf(slice);
    return key === undefined ? [] : [key];
  });

  const loop = createKeyedLoop(deps, {
    name: 'endpointslice-controller',
    queueName: 'endpoint_slice',
    workers: WORKERS,
    informers: informerList(services, pods, nodes, slices),
    sync: countedSync,
    maxRetries: 15,
  });

  async function countedSync(key: string, signal: AbortSignal): Promise<void> {
    let result: 'success' | 'error' = 'error';
    try {
      await syncService(key, signal);
      result = 'success';
    } finally {
      syncs.synced(result);
    }
  }
  function forget(key: string): void {
    metrics.forget(key);
    syncs.forget(key);
  }
  async function syncService(key: string, signal: AbortSignal): Promise<void> {
    const service = services.get(parseKey(key));
    // The slices of a deleted Service go by owner reference.
    if (service === undefined) {
      for (const type of ADDRESS_TYPES) topology.delete(`${key}/${type}`);
      forget(key);
      periods.forget(key);
      return triggers.forget(key);
    }
    if (!hasManagedEndpoints(service) || service.metadata.deletionTimestamp !== undefined) return forget(key);
    const selected = selectedPods(service, pods);
    periods.saw(key, selected.length);
    const triggerTime = triggers.since(service, selected);
    const existing = slices.byIndex(BY_SERVICE, key).filter((slice) => slice.metadata.deletionTimestamp === undefined);
    const types = addressTypesOf(service);
    const nodeOf = (name: string): Node | undefined => (name === '' ? undefined : nodes.get({ name }));
    for (const type of types) {
      const groups = desiredGroups(service, selected, { type, nodeOf });
      if (wantsTopologyHints(service)) tellTopology(service, type, giveTopologyHints(groups.values(), shares()));
      else tellTopologyEnded(service, type);
      const ofType = existing.filter((slice) => slice.addressType === type);
      const plan = planSlices({ service, type, existing: ofType, groups, triggerTime });
      await apply(service, plan, signal);
      metrics.changed({ key: `${key} ${type}`, existing: ofType, ...plan });
      const written = plan.create.length + plan.update.length + plan.remove.length;
      syncs.wrote(service, written, wantsTopologyHints(service));
    }
    const obsolete = existing.filter((slice) => !(types as string[]).includes(slice.addressType));
    await apply(service, { create: [], update: [], remove: obsolete }, signal);
    for (const type of ADDRESS_TYPES) if (!types.includes(type)) metrics.forget(key, type);
    const lost = selected.find((pod) => canBeEndpoint(pod, true) && isLost(service, pod, nodeOf));
    if (lost !== undefined) complain(service, new Error(skipped(service, lost)));
  }

  function complain(service: Service, error: Error): never {
    recorder.event(
      service,
      'Warning',
      'FailedToUpdateEndpointSlices',
      `Error updating Endpoint Slices for Service ${keyOfObject(service)}: ${error.message}`,
    );
    throw error;
  }

  /** Hints went as nobody wants them any more. */
  function tellTopologyEnded(service: Service, type: AddressType): void {
    const key = `${keyOfObject(service)}/${type}`;
    const hadHints = topology.get(key) === HINTS_GIVEN;
    topology.delete(key);
    if (!hadHints) return;
    const text = `Topology Aware Hints has been disabled, addressType: ${type}`;
    recorder.event(service, 'Warning', 'TopologyAwareHintsDisabled', text);
  }

  /** Says when hints come, go, or cannot be given for another reason. */
  function tellTopology(service: Service, type: AddressType, { enabled, message }: TopologyVerdict): void {
    const key = `${keyOfObject(service)}/${type}`;
    if (topology.get(key) === message) return;
    topology.set(key, message);
    const text = `${message}, addressType: ${type}`;
    if (enabled) recorder.event(service, 'Normal', 'TopologyAwareHintsEnabled', text);
    else recorder.event(service, 'Warning', 'TopologyAwareHintsDisabled', text);
  }

  async function apply(service: Service, plan: SlicePlan, signal: AbortSignal): Promise<void> {
    const written: (string | undefined)[] = [];
    try {
      for (const slice of plan.create) written.push((await client.create(slice, { signal })).metadata.resourceVersion);
      for (const slice of plan.update) written.push((await client.update(slice, { signal })).metadata.resourceVersion);
      for (const slice of plan.remove) await remove(slice, signal);
    } catch (error) {
      if (isNamespaceTerminating(error)) return;
      if (!signal.aborted && !isReason(error, 'Conflict')) complain(service, error as Error);
      throw error;
    } finally {
      for (const revision of written) if (revision !== undefined) await slices.waitForRevision(revision, signal);
    }
  }

  async function remove(slice: EndpointSlice, signal: AbortSignal): Promise<void> {
    try {
      const { uid } = slice.metadata;
      await client.delete(parseKey(keyOfObject(slice)), {
        signal,
        preconditions: { uid },
      });
    } catch (error) {
      if (!isReason(error, 'NotFound')) throw error;
    }
  }

  const enqueueInTime = (key: string): void => loop.queue.addAfter(key, periods.ms(key));
  watchServicesAndPods({
    services,
    pods,
    enqueue: (key) => loop.queue.add(key),
    enqueueForPod: enqueueInTime,
  });
  // Mostly what was written here: no reason to look at once. Upstream waits a second (endpointSliceChangeMinSyncDelay).
  const onSlice = (slice: EndpointSlice): void => {
    const key = serviceKeyOf(slice);
    if (key !== undefined) enqueueInTime(key);
  };
  slices.addHandler({
    onAdd: onSlice,
    onUpdate(old, slice) {
      onSlice(old);
      onSlice(slice);
    },
    onDelete: onSlice,
  });
  const enqueueAll = (which: (service: Service) => boolean = () => true): void => {
    for (const service of services.list()) if (which(service)) loop.queue.add(keyOfObject(service));
  };
  const sameShare = (a: Node, b: Node): boolean =>
    isNodeReady(a) === isNodeReady(b) && a.status?.allocatable?.['cpu'] === b.status?.allocatable?.['cpu'];
  nodes.addHandler({
    onAdd: () => enqueueAll(),
    onUpdate(old, node) {
      if (zoneOf(old) !== zoneOf(node)) enqueueAll();
      else if (!sameShare(old, node)) enqueueAll(wantsTopologyHints);
    },
    onDelete: () => enqueueAll(wantsTopologyHints),
  });
  return loop;
}
