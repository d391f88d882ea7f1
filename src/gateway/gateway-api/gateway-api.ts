/**
 * Gateways and their routes, when the kinds of the Gateway API are defined: watches the objects, builds their part of the
 * controller's snapshot, and writes their status.
 */
import { ConfigMaps, Namespaces } from '../../api/gen/resources.ts';
import type { ConfigMap } from '../../api/gen/core-v1.ts';
import type { IngressLoadBalancerIngress } from '../../api/gen/networking-v1.ts';
import type { KubernetesObject, Stored } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { isReason } from '../../api/status-error.ts';
import { formatTime } from '../../api/time.ts';
import { deepEqual } from '../../base/equal.ts';
import type { Steps } from '../../base/steps.ts';
import type { Client } from '../../client/client.ts';
import type { Informer, InformerFactory, InformerOptions } from '../../client/informer.ts';
import { GATEWAY_CONTROLLER } from '../../component-helpers/gateway-class.ts';
import type { CancelTimer, Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { background, logFailure } from '../../platform/unexpected.ts';
import { buildGateways, type BuiltGateways, type GatewaySurroundings } from './build-gateways.ts';
import { CaCertificateCache } from './ca-certificates.ts';
import { classStatus, gatewayStatus, policyAncestors, routeParents, SUPPORTED_FEATURES } from './status-objects.ts';
import { settleFewAtATime } from './settle-few.ts';
import {
  BackendTlsPolicies as BackendTlsPoliciesInfo,
  GatewayClasses,
  Gateways,
  GrpcRoutes,
  HttpRoutes,
  ReferenceGrants,
  TlsRoutes,
  type BackendTlsPolicy,
  type GatewayRoute,
  type TlsRoute,
} from './types.ts';

export interface GatewayApiDeps {
  readonly client: Client;
  /** Creates the informers of the Gateway API's kinds and of namespaces, which `start` starts. */
  readonly informers: InformerFactory;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when `build` may have another result. */
  readonly onChange: () => void;
}

const RETRY_MS = 500;

/** Drops all data of a config map except its authorities. */
const AUTHORITIES = {
  name: 'authorities',
  apply: ({ metadata, data }: Stored<ConfigMap>): Stored<ConfigMap> => {
    const text = data?.['ca.crt'];
    return { metadata, data: text === undefined ? undefined : { 'ca.crt': text } };
  },
};

export class GatewayApi {
  readonly #deps: GatewayApiDeps;
  readonly #classes;
  readonly #gateways;
  readonly #httpRoutes;
  readonly #grpcRoutes;
  readonly #grants;
  readonly #namespaces;
  /** Undefined while the cluster does not define the kind. */
  #tlsRoutes: Informer<TlsRoute> | undefined;
  #policies: Informer<BackendTlsPolicy> | undefined;
  #configMaps: Informer<ConfigMap> | undefined;
  readonly #caCertificates = new CaCertificateCache();
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

  /** Resolves once all objects are loaded. */
  async start(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    this.#deps.informers.start(signal);
    await Promise.all(this.#informers().map((informer) => informer.waitForSync(signal)));
  }

  /** Serves TLSRoutes from the time they are loaded. */
  async followTlsRoutes(signal: AbortSignal): Promise<void> {
    this.#tlsRoutes = await this.#follow(TlsRoutes, signal);
    this.#deps.onChange();
  }

  /** Applies BackendTLSPolicies from the time they and their authorities are loaded. */
  async followPolicies(signal: AbortSignal): Promise<void> {
    const [policies, configMaps] = await Promise.all([
      this.#follow(BackendTlsPoliciesInfo, signal),
      this.#follow(ConfigMaps, signal, { projection: AUTHORITIES }),
    ]);
    [this.#policies, this.#configMaps] = [policies, configMaps];
    this.#deps.onChange();
  }

  async #follow<T extends KubernetesObject>(
    info: ResourceInfo<T>,
    signal: AbortSignal,
    options: InformerOptions<T> = {},
  ): Promise<Informer<T>> {
    const { informers, onChange } = this.#deps;
    const informer = informers.informer(info, options);
    const touch = (object: Stored<T>): void => {
      if (info.kind !== ConfigMaps.kind || this.#isNamed(object)) onChange();
    };
    informer.addHandler({ onAdd: touch, onUpdate: (_before, object) => touch(object), onDelete: touch });
    informers.start(signal);
    await informer.waitForSync(signal);
    return informer;
  }

  /** Whether a policy refers to the config map. */
  #isNamed({ metadata: { namespace, name } }: KubernetesObject): boolean {
    const policies = this.#policies?.list() ?? [];
    return policies.some(
      ({ metadata, spec }) =>
        metadata.namespace === namespace && spec.validation.caCertificateRefs?.some((one) => one.name === name),
    );
  }

  build(surroundings: GatewaySurroundings): Steps<BuiltGateways> {
    const isOurs = (name: string): boolean => {
      const gatewayClass = this.#classes.get({ name });
      return gatewayClass?.spec.controllerName === GATEWAY_CONTROLLER && gatewayClass.spec.parametersRef === undefined;
    };
    return buildGateways(
      {
        gateways: this.#gateways.list().filter(({ spec }) => isOurs(spec.gatewayClassName)),
        httpRoutes: this.#httpRoutes.list(),
        grpcRoutes: this.#grpcRoutes.list(),
        tlsRoutes: this.#tlsRoutes?.list() ?? [],
        backendTlsPolicies: this.#policies?.list() ?? [],
        authoritiesIn: (namespace, name) => {
          const text = this.#configMaps?.get({ namespace, name })?.data?.['ca.crt'];
          return text === undefined ? undefined : this.#caCertificates.read(text);
        },
        grants: this.#grants.list(),
        labelsOfNamespace: (name) => this.#namespaces.get({ name })?.metadata.labels ?? {},
      },
      surroundings,
    );
  }

  /** Writes the status of all objects whose status differs; failed writes are repeated. */
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
    { gateways, routes, policies }: BuiltGateways,
    addresses: readonly IngressLoadBalancerIngress[],
  ): Promise<{ readonly error: unknown } | undefined> {
    const { clock } = this.#deps;
    const time = formatTime(clock.nowMs());
    const writes: (() => Promise<void>)[] = [];
    for (const gatewayClass of this.#classes.list())
      if (gatewayClass.spec.controllerName === GATEWAY_CONTROLLER)
        writes.push(() =>
          this.#patch(
            GatewayClasses,
            gatewayClass,
            classStatus(gatewayClass, this.#features(), time),
            gatewayClass.status,
          ),
        );
    for (const verdict of gateways) {
      const { gateway } = verdict;
      writes.push(() => this.#patch(Gateways, gateway, gatewayStatus(verdict, addresses, time), gateway.status));
    }
    const verdicts = new Map(routes.map((verdict) => [verdict.route.metadata.uid, verdict]));
    const writeRoutes = <T extends GatewayRoute>(info: ResourceInfo<T>, list: readonly Stored<T>[]): void => {
      for (const route of list)
        writes.push(() => {
          const parents = routeParents(route, verdicts.get(route.metadata.uid), time);
          return this.#patch(info, route, { parents }, { parents: route.status?.parents ?? [] });
        });
    };
    writeRoutes(HttpRoutes, this.#httpRoutes.list());
    writeRoutes(GrpcRoutes, this.#grpcRoutes.list());
    writeRoutes(TlsRoutes, this.#tlsRoutes?.list() ?? []);
    const ofPolicies = new Map(policies.map((verdict) => [verdict.policy.metadata.uid, verdict]));
    for (const policy of this.#policies?.list() ?? [])
      writes.push(() => {
        const ancestors = policyAncestors(policy, ofPolicies.get(policy.metadata.uid), time);
        const before = { ancestors: policy.status?.ancestors ?? [] };
        return this.#patch(BackendTlsPoliciesInfo, policy, { ancestors }, before);
      });
    return settleFewAtATime(writes, () => clock.turn());
  }

  #features(): readonly string[] {
    const isServed = (name: string): boolean =>
      name.startsWith('BackendTLSPolicy')
        ? this.#policies !== undefined
        : !name.startsWith('TLSRoute') || this.#tlsRoutes !== undefined;
    return SUPPORTED_FEATURES.filter(isServed);
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
