/**
 * How pods become endpoints of Services; the controllers of EndpointSlices and Endpoints share this. Upstream:
 * endpointslice/util, endpoint.
 */
import type { ObjectReference, Pod, Service } from '../api/gen/core-v1.ts';
import { compileLabelMap } from '../api/label-selector.ts';
import type { Stored } from '../api/object.ts';
import { parseTime } from '../api/time.ts';
import { parseIp } from '../base/cidr.ts';
import { deepEqual } from '../base/equal.ts';
import { type Informer, onEveryChange } from '../client/informer.ts';
import { keyOfObject } from '../client/object-store.ts';
import { isPodReady, isPodTerminal, podCondition } from '../component-helpers/pods.ts';
import { selectedOf, type SelectingDeps, SelectingOwners } from './selecting-owners.ts';

/** When the change happened that led to an update of endpoints. */
export const TRIGGER_TIME_ANNOTATION = 'endpoints.kubernetes.io/last-change-trigger-time';
/** Marks endpoints of headless Services. */
export const HEADLESS_LABEL = 'service.kubernetes.io/headless';

/** Whether the Service has a selector, so that its endpoints are managed by controllers. */
export function hasManagedEndpoints(service: Service): boolean {
  return service.spec?.type !== 'ExternalName' && !compileLabelMap(service.spec?.selector).isEverything;
}

/** Whether the Service has a cluster IP. */
export function isServiceIpSet(service: Service): boolean {
  const ip = service.spec?.clusterIP ?? '';
  return ip !== '' && ip !== 'None';
}

/** Whether a pod can be an endpoint: it has an address and has not ended. */
export function canBeEndpoint(pod: Pod, includeTerminating: boolean): boolean {
  if (isPodTerminal(pod) || podIps(pod).length === 0) return false;
  return includeTerminating || pod.metadata.deletionTimestamp === undefined;
}

function podIps(pod: Pod): string[] {
  const all = (pod.status?.podIPs ?? []).map((entry) => entry.ip).filter((ip) => ip !== undefined && ip !== '');
  const single = pod.status?.podIP ?? '';
  return all.length > 0 ? (all as string[]) : single === '' ? [] : [single];
}

/** The pod's addresses of one family. */
export function podIpsOfFamily(pod: Pod, family: 4 | 6): string[] {
  return podIps(pod).filter((ip) => parseIp(ip)?.family === family);
}

/** The host name that a pod has under this Service's DNS name. */
export function endpointHostname(pod: Pod, service: Service): string | undefined {
  const hostname = pod.spec?.hostname ?? '';
  return hostname !== '' && pod.spec?.subdomain === service.metadata.name ? hostname : undefined;
}

/** The endpoint's targetRef. */
export function podTargetRef(pod: Pod): ObjectReference {
  const { namespace, name, uid } = pod.metadata;
  return {
    kind: 'Pod',
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    ...(uid === undefined ? {} : { uid }),
  };
}

/** A text of everything in a pod that its endpoints depend on. */
function endpointFacts(pod: Pod): string {
  const { spec, status, metadata } = pod;
  return JSON.stringify([
    podIps(pod),
    isPodReady(pod),
    isPodTerminal(pod),
    metadata.deletionTimestamp !== undefined,
    spec?.nodeName,
    spec?.hostname,
    spec?.subdomain,
    status?.hostIP,
    metadata.labels,
  ]);
}

/**
 * Calls `enqueue` with the keys of changed Services, `enqueueForPod` with those of Services that a pod's change
 * concerns.
 */
export function watchServicesAndPods(deps: {
  readonly platform: SelectingDeps<Service, Pod>['platform'];
  readonly services: Informer<Service>;
  readonly pods: Informer<Pod>;
  enqueue(key: string): void;
  enqueueForPod(key: string): void;
}): void {
  const { platform, services, pods, enqueue, enqueueForPod } = deps;
  const selecting = new SelectingOwners<Service, Pod>({
    platform,
    owners: services,
    selectorOf: (service) => (hasManagedEndpoints(service) ? compileLabelMap(service.spec?.selector) : undefined),
    found: enqueueForPod,
  });
  services.addHandler(onEveryChange((service) => enqueue(keyOfObject(service))));
  pods.addHandler({
    onAdd: (pod) => selecting.find(pod),
    onUpdate(old, pod) {
      if (endpointFacts(old) === endpointFacts(pod)) return;
      if (deepEqual(old.metadata.labels, pod.metadata.labels)) selecting.find(pod);
      else selecting.find(old, pod);
    },
    onDelete: (pod) => selecting.find(pod),
  });
}

/** The pods a Service selects. */
export function selectedPods(
  service: Service,
  pods: Informer<Pod>,
  pause: () => Promise<void>,
): Promise<Stored<Pod>[]> {
  return selectedOf(pods.list(service.metadata.namespace), compileLabelMap(service.spec?.selector), pause);
}

/** Finds the change that triggered a sync. Upstream: endpointslice/trigger_time_tracker. */
export interface TriggerTimes {
  /** The earliest change since the last call for this Service; undefined when no change with a time is known. */
  since(service: Service, pods: readonly Pod[]): string | undefined;
  forget(key: string): void;
}

export function createTriggerTimes(): TriggerTimes {
  const seen = new Map<string, { created: string | undefined; pods: ReadonlyMap<string, string> }>();
  return {
    since(service, pods) {
      const key = keyOfObject(service);
      const { creationTimestamp } = service.metadata;
      const before = seen.get(key);
      const now = new Map<string, string>();
      for (const pod of pods) {
        const time = podCondition(pod, 'Ready')?.lastTransitionTime;
        if (time !== undefined) now.set(pod.metadata.name ?? '', time);
      }
      seen.set(key, { created: creationTimestamp, pods: now });
      // At the first sync (after a restart, say) earlier changes are unknown.
      if (before === undefined) return creationTimestamp;
      const isNew = (time: string, was: string | undefined): boolean =>
        was === undefined || parseTime(time) > parseTime(was);
      const changed = [...now].filter(([name, time]) => isNew(time, before.pods.get(name))).map(([, time]) => time);
      if (creationTimestamp !== undefined && isNew(creationTimestamp, before.created)) changed.push(creationTimestamp);
      return changed.sort()[0];
    },
    forget: (key) => seen.delete(key),
  };
}
