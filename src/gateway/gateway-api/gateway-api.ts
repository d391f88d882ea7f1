/**
 * Gateways and their routes, where the kinds of the Gateway API are defined: follows the objects, gives the controller their
 * part of the snapshot, and keeps their status.
 */
import { Namespaces } from '../../api/gen/resources.ts';
import type { IngressLoadBalancerIngress } from '../../api/gen/networking-v1.ts';
import type { KubernetesObject, Stored } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { isReason } from '../../api/status-error.ts';
import { formatTime } from '../../api/time.ts';
import { deepEqual } from '../../base/equal.ts';
import type { Steps } from '../../base/steps.ts';
import type { Client } from '../../client/client.ts';
import type { InformerFactory } from '../../client/informer.ts';
import { GATEWAY_CONTROLLER } from '../../component-helpers/gateway-class.ts';
import type { CancelTimer, Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { background, logFailure } from '../../platform/unexpected.ts';
import { buildGateways, type BuiltGateways, type GatewaySurroundings } from './build-gateways.ts';
import { classStatus, gatewayStatus, routeParents } from './status-objects.ts';
import { GatewayClasses, Gateways, GrpcRoutes, HttpRoutes, ReferenceGrants, type GatewayRoute } from './types.ts';

export interface GatewayApiDeps {
  readonly client: Client;
  /** Makes those of the Gateway API's kinds and of namespaces; `start` starts them. */
  readonly informers: InformerFactory;
  readonly clock: Clock;
  readonly log: Log;
  /** Something changed: `build` gives another result. */
  readonly onChange: () => void;
}

const RETRY_MS = 500;

export class GatewayApi {
  readonly #deps: GatewayApiDeps;
  readonly #classes;
  readonly #gateways;
  readonly #httpRoutes;
  readonly #grpcRoutes;
  readonly #grants;
  readonly #namespaces;
  #signal: AbortSignal | undefined;
  #retry: CancelTimer | undefined;
  #isWriting = false;
  #latest: { readonly built: BuiltGateways; readonly addresses: readonly IngressLoadBalancerIngress[] } | undefined;

  constructor(deps: GatewayApiDeps, grantVersion: 'v1' | 'v1beta1') {
    const { informers, onChange } = deps;
    this.#deps = deps;
    this.#classes = informers.informer(GatewayClasses);
    this.#gateways = informers.informer(Gateways);
    this.#httpRoutes = informers.informer(HttpRoutes);
    this.#grpcRoutes = informers.informer(GrpcRoutes);
    this.#grants = informers.informer({ ...ReferenceGrants, version: grantVersion });
    this.#namespaces = informers.informer(Namespaces);
    const handler = { onAdd: onChange, onUpdate: onChange, onDelete: onChange };
    for (const informer of this.#informers()) informer.addHandler(handler);
  }

  /** Resolves once all objects are known. */
  async start(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    this.#deps.informers.start(signal);
    await Promise.all(this.#informers().map((informer) => informer.waitForSync(signal)));
  }

  build(surroundings: GatewaySurroundings): Steps<BuiltGateways> {
    const isOurs = (name: string): boolean => {
      const found = this.#classes.get({ name });
      return found?.spec.controllerName === GATEWAY_CONTROLLER && found.spec.parametersRef === undefined;
    };
    return buildGateways(
      {
        gateways: this.#gateways.list().filter(({ spec }) => isOurs(spec.gatewayClassName)),
        httpRoutes: this.#httpRoutes.list(),
        grpcRoutes: this.#grpcRoutes.list(),
        grants: this.#grants.list(),
        labelsOfNamespace: (name) => this.#namespaces.get({ name })?.metadata.labels ?? {},
      },
      surroundings,
    );
  }

  /** Writes the status of all objects that differ; what fails is tried again. */
  publish(built: BuiltGateways, addresses: readonly IngressLoadBalancerIngress[]): void {
    this.#latest = { built, addresses };
    if (!this.#isWriting) background(this.#deps.log, 'the status of gateways was not written', this.#write());
  }

  #informers() {
    return [this.#classes, this.#gateways, this.#httpRoutes, this.#grpcRoutes, this.#grants, this.#namespaces] as const;
  }

  async #write(): Promise<void> {
    this.#isWriting = true;
    const { clock, log } = this.#deps;
    try {
      for (let work = this.#latest; work !== undefined; work = this.#latest) {
        this.#latest = undefined;
        const failed = await this.#writeAll(work.built, work.addresses);
        if (failed === undefined || this.#signal?.aborted !== false) continue;
        if (!isReason(failed.error, 'Conflict'))
          logFailure(log, 'the status of gateways was not written, again later', failed.error);
        this.#retry?.();
        this.#retry = clock.setTimer(RETRY_MS, this.#deps.onChange);
      }
    } finally {
      this.#isWriting = false;
    }
  }

  async #writeAll(
    { gateways, routes }: BuiltGateways,
    addresses: readonly IngressLoadBalancerIngress[],
  ): Promise<{ readonly error: unknown } | undefined> {
    const time = formatTime(this.#deps.clock.nowMs());
    const writes: Promise<void>[] = [];
    for (const found of this.#classes.list())
      if (found.spec.controllerName === GATEWAY_CONTROLLER)
        writes.push(this.#patch(GatewayClasses, found, classStatus(found, time), found.status));
    for (const verdict of gateways) {
      const { gateway } = verdict;
      writes.push(this.#patch(Gateways, gateway, gatewayStatus(verdict, addresses, time), gateway.status));
    }
    const verdicts = new Map(routes.map((verdict) => [verdict.route.metadata.uid, verdict]));
    const writeRoutes = <T extends GatewayRoute>(info: ResourceInfo<T>, list: readonly Stored<T>[]): void => {
      for (const route of list) {
        const parents = routeParents(route, verdicts.get(route.metadata.uid), time);
        writes.push(this.#patch(info, route, { parents }, { parents: route.status?.parents ?? [] }));
      }
    };
    writeRoutes(HttpRoutes, this.#httpRoutes.list());
    writeRoutes(GrpcRoutes, this.#grpcRoutes.list());
    const results = await Promise.allSettled(writes);
    const rejected = results.find((one) => one.status === 'rejected');
    return rejected === undefined ? undefined : { error: rejected.reason as unknown };
  }

  async #patch<T extends KubernetesObject>(
    info: ResourceInfo<T>,
    { metadata }: Stored<T>,
    status: object,
    before: object | undefined,
  ): Promise<void> {
    if (deepEqual(status, before)) return;
    const { namespace, name, resourceVersion } = metadata;
    const key = namespace === undefined ? { name } : { namespace, name };
    const patch = { metadata: { resourceVersion }, status };
    try {
      await this.#deps.client
        .resource(info)
        .patch(key, { type: 'merge', patch }, { subresource: 'status', signal: this.#signal });
    } catch (error) {
      if (!isReason(error, 'NotFound')) throw error;
    }
  }
}
