/**
 * Assigns the nodes' addresses to Services of type LoadBalancer (see load-balancer-addresses.ts). It runs once in the
 * cluster and writes `status.loadBalancer` of services without a load balancer class. Upstream: the service
 * controller of the cloud provider. Without a cloud nothing external needs cleanup, so there is no finalizer.
 */
import { keyOfObject } from '../client/object-store.ts';
import type { Stored } from '../api/object.ts';
import { onAbort } from '../base/abort.ts';
import { stepByStep } from '../base/steps.ts';
import { EndpointSlices, Nodes, Services } from '../api/gen/resources.ts';
import { isReason, ignoreNotFound } from '../api/status-error.ts';
import type { Service } from '../api/gen/core-v1.ts';
import type { Client } from '../client/client.ts';
import type { EventRecorder } from '../client/event-recorder.ts';
import type { InformerFactory } from '../client/informer.ts';
import { createWorkQueue } from '../client/workqueue.ts';
import type { BasePlatform } from '../platform/platform.ts';
import { isProgramError } from '../platform/unexpected.ts';
import { assignAddresses, ingressOf, type Assignment, type PortUser } from './load-balancer-addresses.ts';

/** The recorder's component must be upstream's `service-controller`. */
export interface LoadBalancerDeps {
  readonly client: Client;
  /** Services, EndpointSlices, Nodes. The owner of the factory starts them. */
  readonly informers: InformerFactory;
  readonly platform: Pick<BasePlatform, 'clock' | 'log' | 'metrics'>;
  readonly recorder: EventRecorder;
  /** Returns the processes of the nodes that need a TCP port more than a service. */
  readonly portUser?: () => PortUser;
}

export interface LoadBalancerController {
  readonly name: string;
  /** Works until the signal aborts. Never rejects. */
  start(signal: AbortSignal): Promise<void>;
}

const NAME = 'service-lb-controller';
const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';
const BY_SERVICE = 'service';
/** One key for all services, as they compete for ports. */
const ALL = 'all';

/** The constructor adds handlers to the informers. Run one in a cluster. */
export function createLoadBalancerController(deps: LoadBalancerDeps): LoadBalancerController {
  const { informers, platform } = deps;
  const services = informers.informer(Services);
  const nodes = informers.informer(Nodes);
  const slices = informers.informer(EndpointSlices);
  const log = platform.log.child(NAME);
  const queue = createWorkQueue<string>({ name: 'service', clock: platform.clock, metrics: platform.metrics });
  const problems = new Map<string, string>();
  const touch = (): void => queue.add(ALL);
  slices.addIndex(BY_SERVICE, (slice) => [
    `${slice.metadata.namespace}/${slice.metadata.labels?.[SERVICE_NAME_LABEL] ?? ''}`,
  ]);
  for (const informer of [services, nodes, slices])
    informer.addHandler({ onAdd: touch, onUpdate: touch, onDelete: touch });

  async function sync(signal: AbortSignal): Promise<void> {
    // Changes come in bursts, and each concerns all services.
    await platform.clock.yield();
    const all = services
      .list()
      .filter((service) => service.spec?.type === 'LoadBalancer' || ingressOf(service).length > 0);
    const surroundings = {
      nodes: nodes.list(),
      slicesOf: (s: Service) => slices.byIndex(BY_SERVICE, keyOfObject(s)),
      portUser: deps.portUser?.() ?? (() => undefined),
    };
    const assigned = await stepByStep(assignAddresses(all, surroundings), () => platform.clock.yield());
    const results = await Promise.allSettled(
      all.map((service) => settle(service, assigned.get(keyOfObject(service)), signal)),
    );
    for (const key of problems.keys()) if (!assigned.has(key)) problems.delete(key);
    const failed = results.find((r) => r.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }
  async function settle(
    service: Stored<Service>,
    assignment: Assignment | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const has = ingressOf(service).map((i) => i.ip ?? i.hostname ?? '');
    if (assignment === undefined) {
      const released = service.spec?.type !== 'LoadBalancer' && has.length > 0;
      return released ? await release(service, signal) : undefined;
    }
    reportProblem(service, assignment.problem);
    if (has.length === assignment.addresses.length && assignment.addresses.every((a, i) => a === has[i])) return;
    deps.recorder.event(service, 'Normal', 'EnsuringLoadBalancer', 'Ensuring load balancer');
    await write(service, assignment.addresses, signal);
    if (assignment.addresses.length > 0)
      deps.recorder.event(service, 'Normal', 'EnsuredLoadBalancer', 'Ensured load balancer');
  }
  async function release(service: Stored<Service>, signal: AbortSignal): Promise<void> {
    deps.recorder.event(service, 'Normal', 'DeletingLoadBalancer', 'Deleting load balancer');
    await write(service, [], signal);
    deps.recorder.event(service, 'Normal', 'DeletedLoadBalancer', 'Deleted load balancer');
  }
  function reportProblem(service: Stored<Service>, problem: string | undefined): void {
    const key = keyOfObject(service);
    if (problem === undefined) {
      problems.delete(key);
      return;
    }
    if (problems.get(key) === problem) return;
    problems.set(key, problem);
    deps.recorder.event(
      service,
      'Warning',
      'SyncLoadBalancerFailed',
      `Error syncing load balancer: failed to ensure load balancer: ${problem}`,
    );
  }
  async function write(service: Stored<Service>, addresses: readonly string[], signal: AbortSignal): Promise<void> {
    const ingress = addresses.length === 0 ? null : addresses.map((ip) => ({ ip, ipMode: 'VIP' }));
    const key = { namespace: service.metadata.namespace, name: service.metadata.name };
    // The resource version guards against a service that has just changed its type.
    const patch = {
      metadata: { resourceVersion: service.metadata.resourceVersion },
      status: { loadBalancer: { ingress } },
    };
    await deps.client
      .resource(Services)
      .patch(key, { type: 'merge', patch }, { subresource: 'status', signal })
      .catch(ignoreNotFound);
  }

  return {
    name: NAME,
    async start(signal) {
      onAbort(signal, () => queue.shutDown());
      try {
        await Promise.all([services, nodes, slices].map((informer) => informer.waitForSync(signal)));
      } catch {
        return; // aborted before the caches were synced
      }
      touch();
      for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
        try {
          await sync(signal);
          queue.forget(key);
        } catch (error) {
          if (!signal.aborted) {
            if (isProgramError(error)) log.unexpected('load balancer addresses were not written, again later', error);
            else if (!isReason(error, 'Conflict'))
              log.warn('load balancer addresses were not written, again later', { err: error });
            queue.addRateLimited(key);
          }
        }
        queue.done(key);
      }
    },
  };
}
