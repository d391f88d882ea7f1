/**
 * Reports whether a ServiceCIDR is in use, and keeps it while services have addresses of it. Upstream:
 * pkg/controller/servicecidrs.
 *
 * Watches: ServiceCIDRs, Services. Writes alone: the Ready condition and the
 * `networking.k8s.io/service-cidr-finalizer`. Differs: a cluster's ranges are fixed at its first start, since routes
 * and rules of the nodes are made for them; another range is not Ready, and its condition says why.
 */
import type { Condition } from '../../api/gen/meta-v1.ts';
import type { ServiceCIDR } from '../../api/gen/networking-v1.ts';
import { ServiceCIDRs, Services } from '../../api/gen/resources.ts';
import { isReason } from '../../api/status-error.ts';
import { formatTime } from '../../api/time.ts';
import { cidrContains, formatCidr, parseCidr, parseIp, type Cidr } from '../../base/cidr.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';

const FINALIZER = 'networking.k8s.io/service-cidr-finalizer';
const READY = 'Ready';

type ReadyState = Pick<Condition, 'status' | 'reason' | 'message'>;

export function createServiceCidrsController(deps: ControllerDeps): Controller {
  const client = deps.clientFor('service-cidrs-controller').resource(ServiceCIDRs);
  const ranges = deps.informers.informer(ServiceCIDRs);
  const services = deps.informers.informer(Services);
  const own = parsed(deps.config.serviceCidrs ?? []).map(formatCidr);
  const loop = createKeyedLoop(deps, {
    name: 'service-cidr-controller',
    queueName: 'ipaddresses',
    workers: 1,
    informers: informerList(ranges, services),
    sync: syncServiceCidr,
  });

  async function syncServiceCidr(key: string, signal: AbortSignal): Promise<void> {
    const range = ranges.get(parseKey(key));
    if (range === undefined) return;
    try {
      if (range.metadata.deletionTimestamp !== undefined) return await release(range, signal);
      const cidrs = parsed(range.spec?.cidrs ?? []);
      // A controller manager without configured ranges uses those of the server.
      if (own.length > 0 && !cidrs.every((cidr) => own.includes(formatCidr(cidr))))
        return await writeStatus(range, notSupported(own), signal);
      const held = await setFinalizers(range, [...finalizersBut(range), FINALIZER], signal);
      await writeStatus(held, { status: 'True', reason: READY, message: 'Kubernetes Service CIDR is ready' }, signal);
    } catch (error) {
      if (!isReason(error, 'NotFound')) throw error;
    }
  }

  async function release(range: ServiceCIDR, signal: AbortSignal): Promise<void> {
    if (!(range.metadata.finalizers ?? []).includes(FINALIZER)) return;
    if (inUse(range)) return await writeStatus(range, STILL_USED, signal);
    await setFinalizers(range, finalizersBut(range), signal);
  }

  /** Whether a service has an address of the range that no other range covers. */
  function inUse(range: ServiceCIDR): boolean {
    const cidrs = parsed(range.spec?.cidrs ?? []);
    const others = ranges
      .list()
      .filter((other) => other.metadata.uid !== range.metadata.uid && isReady(other))
      .flatMap((other) => parsed(other.spec?.cidrs ?? []));
    return services.list().some(({ spec }) =>
      (spec?.clusterIPs ?? []).some((text) => {
        const ip = parseIp(text);
        const within = (cidr: Cidr): boolean => ip !== undefined && cidrContains(cidr, ip);
        return cidrs.some(within) && !others.some(within);
      }),
    );
  }

  async function setFinalizers(range: ServiceCIDR, next: string[], signal: AbortSignal): Promise<ServiceCIDR> {
    if (next.join() === (range.metadata.finalizers ?? []).join()) return range;
    return await client.update({ ...range, metadata: { ...range.metadata, finalizers: next } }, { signal });
  }

  async function writeStatus(range: ServiceCIDR, verdict: ReadyState, signal: AbortSignal): Promise<void> {
    const conditions = range.status?.conditions ?? [];
    const last = conditions.find(({ type }) => type === READY);
    if (last?.status === verdict.status && last.reason === verdict.reason && last.message === verdict.message) return;
    const now = formatTime(deps.platform.clock.nowMs());
    const lastTransitionTime = last?.status === verdict.status ? last.lastTransitionTime : now;
    const next = [...conditions.filter(({ type }) => type !== READY), { type: READY, ...verdict, lastTransitionTime }];
    await client.updateStatus({ ...range, status: { ...range.status, conditions: next } }, { signal });
  }

  const enqueue = (range: ServiceCIDR): void => loop.queue.add(keyOfObject(range));
  ranges.addHandler({ onAdd: enqueue, onUpdate: (_, range) => enqueue(range) });
  // A terminating range may wait for the deletion of this service.
  const enqueueLeaving = (): void => {
    for (const range of ranges.list()) if (range.metadata.deletionTimestamp !== undefined) enqueue(range);
  };
  services.addHandler({ onUpdate: enqueueLeaving, onDelete: enqueueLeaving });
  return loop;
}

const STILL_USED: ReadyState = {
  status: 'False',
  reason: 'Terminating',
  message:
    'There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR that covers them',
};

function notSupported(own: readonly string[]): ReadyState {
  const message = `services get addresses of ${own.join(', ')} alone: no range can be added to a cluster that runs`;
  return { status: 'False', reason: 'NotSupported', message };
}

function finalizersBut({ metadata }: ServiceCIDR): string[] {
  return (metadata.finalizers ?? []).filter((finalizer) => finalizer !== FINALIZER);
}

function isReady({ metadata, status }: ServiceCIDR): boolean {
  const ready = status?.conditions?.find(({ type }) => type === READY);
  return metadata.deletionTimestamp === undefined && ready?.status === 'True';
}

function parsed(texts: readonly string[]): Cidr[] {
  return texts.flatMap((text) => parseCidr(text) ?? []);
}
