/**
 * Serves the Ingress objects of our classes on one node: watches the objects, builds a snapshot a few milliseconds after a
 * change, and publishes it when it differs. Parts that cannot be served cause an event of their object. Upstream: none; it is an
 * ingress controller.
 */
import { EndpointSlices, IngressClasses, Ingresses, Secrets, Services } from '../api/gen/resources.ts';
import type { Node, Secret } from '../api/gen/core-v1.ts';
import type { Ingress } from '../api/gen/networking-v1.ts';
import type { KubernetesObject, Stored } from '../api/object.ts';
import { deepEqual } from '../base/equal.ts';
import { GATEWAY_PORTS_ANNOTATION } from '../component-helpers/gateway-class.ts';
import { isNodeReady } from '../component-helpers/nodes.ts';
import type { EventRecorder } from '../client/event-recorder.ts';
import type { Informer, InformerFactory } from '../client/informer.ts';
import { stepByStep, type Steps } from '../base/steps.ts';
import type { CancelTimer, Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import { background } from '../platform/unexpected.ts';
import type { BuiltGateways } from './gateway-api/build-gateways.ts';
import type { GatewayApi } from './gateway-api/gateway-api.ts';
import { gatewayAddresses, gatewayPorts, kubeletOn } from './ingress/ingress-status.ts';
import { isServedIngress } from './ingress/ingress-class.ts';
import { acceptIngresses } from './snapshot/accept-ingresses.ts';
import { buildSnapshot, type GatewayPorts, type SnapshotInput } from './snapshot/build-snapshot.ts';
import { claimsOfIngresses, SharedHosts } from './snapshot/host-claims.ts';
import type { ClusterView, RouteProblem } from './snapshot/cluster-view.ts';
import { SecretCertificates, type InspectCertificate } from './snapshot/secret-certificates.ts';
import { writeSnapshot } from './snapshot/snapshot-message.ts';

export interface GatewayControllerDeps {
  readonly informers: InformerFactory;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly log: Log;
  readonly inspect: InspectCertificate;
  /** Receives each snapshot that differs from the last. */
  readonly publish: (snapshot: PublishedSnapshot) => void;
}

/** A snapshot in the form in which it is sent. */
export interface PublishedSnapshot {
  /** The JSON of `SnapshotTables`. */
  readonly pieces: readonly string[];
  /** The ports of its listeners. When it is empty, no data plane is needed. */
  readonly ports: ReadonlySet<number>;
}

export interface GatewayControllerConfig {
  readonly ports: GatewayPorts;
  readonly defaultCertificate: SnapshotInput['defaultCertificate'];
  /** The component of the node that uses a port; undefined for a free one. */
  readonly portUser: (port: number) => string | undefined;
}

const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';
const BY_SERVICE = 'service';
/** Changes within this time cause one snapshot. */
const GATHER_MS = 5;
/** The pause after a build is this many times its duration, so that builds take at most a quarter of the time. */
const REST_FACTOR = 3;

/** Drops all data of a secret except its certificate. */
const CERTIFICATE_DATA = {
  name: 'tls',
  apply: (secret: Stored<Secret>): Stored<Secret> => {
    const { 'tls.crt': certificate, 'tls.key': key } = secret.data ?? {};
    if (certificate === undefined || key === undefined) return { ...secret, data: {} };
    return { ...secret, data: { 'tls.crt': certificate, 'tls.key': key } };
  },
};

/** The fields of a node that routes depend on. */
function factsOf({ metadata, status }: Node): object {
  const { addresses, daemonEndpoints } = status ?? {};
  const ports = metadata.annotations?.[GATEWAY_PORTS_ANNOTATION];
  return { ports, addresses, daemonEndpoints, isReady: isNodeReady({ metadata, status }) };
}

export class GatewayController {
  readonly #deps: GatewayControllerDeps;
  readonly #config: GatewayControllerConfig;
  readonly #ingresses: Informer<Ingress>;
  readonly #classes;
  readonly #services;
  readonly #slices;
  readonly #secrets;
  #gatewayApi: { readonly api: GatewayApi; readonly nodes: Informer<Node> } | undefined;
  #cancel: CancelTimer | undefined;
  #isSynced = false;
  readonly #certificates: SecretCertificates;
  #published: readonly string[] = [];
  #isBuilding = false;
  #isStale = false;
  #restMs = 0;
  /** Services and Secrets that the last build has read; undefined when no build has succeeded. */
  #used: ReadonlySet<string> | undefined;
  /** The events recorded for each ingress, by uid. */
  #recorded = new Map<string, string>();

  /** Adds its handlers to the informers, which their owner starts. */
  constructor(deps: GatewayControllerDeps, config: GatewayControllerConfig) {
    const { informers } = deps;
    this.#deps = deps;
    this.#config = config;
    this.#certificates = new SecretCertificates(deps.inspect);
    this.#ingresses = informers.informer(Ingresses);
    this.#classes = informers.informer(IngressClasses);
    this.#services = informers.informer(Services);
    this.#slices = informers.informer(EndpointSlices);
    this.#secrets = informers.informer(Secrets, { projection: CERTIFICATE_DATA });
    this.#slices.addIndex(BY_SERVICE, ({ metadata }) => [
      `${metadata.namespace}/${metadata.labels?.[SERVICE_NAME_LABEL] ?? ''}`,
    ]);
    const touch = (): void => this.touch();
    for (const informer of [this.#ingresses, this.#classes])
      informer.addHandler({ onAdd: touch, onUpdate: touch, onDelete: touch });
    this.#touchWhereUsed(this.#services, 'Service', ({ metadata }) => metadata.name);
    this.#touchWhereUsed(this.#slices, 'Service', ({ metadata }) => metadata.labels?.[SERVICE_NAME_LABEL] ?? '');
    this.#touchWhereUsed(this.#secrets, 'Secret', ({ metadata }) => metadata.name);
  }

  /** Rebuilds when the changed object was read by the last build, or was missing in it. */
  #touchWhereUsed<T extends KubernetesObject>(
    informer: Informer<T>,
    kind: string,
    nameOf: (object: Stored<T>) => string,
  ): void {
    const onChange = (object: Stored<T>): void => {
      const key = `${kind} ${object.metadata.namespace}/${nameOf(object)}`;
      if (this.#isBuilding || this.#used?.has(key) !== false) this.touch();
    };
    const onUpdate = (before: Stored<T>, object: Stored<T>): void => {
      onChange(before);
      onChange(object);
    };
    informer.addHandler({ onAdd: onChange, onUpdate, onDelete: onChange });
  }

  /** Resolves once all objects are loaded and the first snapshot is published. */
  async start(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#informers().map((informer) => informer.waitForSync(signal)));
    await this.#gatewayApi?.nodes.waitForSync(signal);
    this.#isSynced = true;
    await this.#buildNow();
  }

  stop(): void {
    this.#isSynced = false;
    this.#cancel?.();
  }

  /** Serves Gateways, too. `nodes` provide their addresses. */
  useGatewayApi(api: GatewayApi, nodes: Informer<Node>): void {
    const onNode = (): void => this.touch();
    const onUpdate = (before: Stored<Node>, node: Stored<Node>): void => {
      // The kubelet's heartbeats change other fields every few seconds.
      if (!deepEqual(factsOf(before), factsOf(node))) this.touch();
    };
    nodes.addHandler({ onAdd: onNode, onUpdate, onDelete: onNode });
    this.#gatewayApi = { api, nodes };
    this.touch();
  }

  /** The ingresses of our classes. */
  served(): readonly Stored<Ingress>[] {
    const classNamed = (name: string) => this.#classes.get({ name });
    return this.#ingresses.list().filter((ingress) => isServedIngress(ingress, classNamed));
  }

  #informers() {
    return [this.#ingresses, this.#classes, this.#services, this.#slices, this.#secrets] as const;
  }

  /** Called when an object that snapshots depend on has changed. */
  touch(): void {
    if (!this.#isSynced) return;
    if (this.#isBuilding) this.#isStale = true;
    else
      this.#cancel ??= this.#deps.clock.setTimer(GATHER_MS + this.#restMs, () => {
        this.#cancel = undefined;
        background(this.#deps.log, 'a snapshot of routes was not made', this.#buildNow());
      });
  }

  /** Builds in steps between other tasks. Changes during the build cause the next one. */
  async #buildNow(): Promise<void> {
    const { clock } = this.#deps;
    const startMs = clock.monotonicMs();
    this.#isBuilding = true;
    this.#isStale = false;
    try {
      await stepByStep(this.#build(), () => clock.turn());
    } finally {
      this.#isBuilding = false;
      this.#restMs = (clock.monotonicMs() - startMs) * REST_FACTOR;
      if (this.#isStale) this.touch();
    }
  }

  *#build(): Steps<void> {
    const ingresses = this.served();
    const used = new Set<string>();
    this.#used = undefined;
    const view = this.#view(used);
    const certificates = this.#certificates;
    const converted = yield* acceptIngresses({ ingresses, view, certificates });
    const { http, https } = this.#config.ports;
    const shared = new SharedHosts([http, https], claimsOfIngresses(converted));
    const gateways = yield* this.#buildGateways({ view, shared }, ingresses.length > 0);
    const built = yield* buildSnapshot({ ingresses: converted, gateways, shared, ...this.#config });
    this.#used = used;
    this.#record(ingresses, built.problems);
    const pieces = yield* writeSnapshot(built.plan);
    const before = this.#published;
    if (!this.#isSynced || (pieces.length === before.length && pieces.every((piece, at) => piece === before[at])))
      return;
    this.#published = pieces;
    this.#deps.publish({ pieces, ports: new Set(built.plan.listeners.map(({ port }) => port)) });
  }

  *#buildGateways(
    from: { readonly view: ClusterView; readonly shared: SharedHosts },
    hasIngresses: boolean,
  ): Steps<BuiltGateways | undefined> {
    if (this.#gatewayApi === undefined) return undefined;
    const { api, nodes } = this.#gatewayApi;
    const { http, https } = this.#config.ports;
    const taken = new Map(hasIngresses ? [[http, false] as const, [https, true] as const] : []);
    const all = nodes.list();
    const addresses = gatewayAddresses(all);
    const built = yield* api.build({
      ...from,
      certificates: this.#certificates,
      taken,
      portUser: (port) => this.#config.portUser(port) ?? kubeletOn(port, all),
      addresses,
      openPorts: gatewayPorts(all),
    });
    api.publish(built, addresses);
    return built;
  }

  #view(used: Set<string>): ClusterView {
    return {
      service: (namespace, name) => {
        used.add(`Service ${namespace}/${name}`);
        return this.#services.get({ namespace, name });
      },
      slicesOf: (namespace, name) => this.#slices.byIndex(BY_SERVICE, `${namespace}/${name}`),
      secret: (namespace, name) => {
        used.add(`Secret ${namespace}/${name}`);
        return this.#secrets.get({ namespace, name });
      },
    };
  }

  /** Records an event for each new problem. */
  #record(ingresses: readonly Stored<Ingress>[], problems: ReadonlyMap<string, readonly RouteProblem[]>): void {
    const recorded = new Map<string, string>();
    for (const ingress of ingresses) {
      const { uid } = ingress.metadata;
      const routeProblems = problems.get(uid) ?? [];
      const before = this.#recorded.get(uid) ?? '';
      for (const { reason, message } of routeProblems)
        if (!before.includes(`${reason}: ${message}\n`)) this.#deps.recorder.event(ingress, 'Warning', reason, message);
      recorded.set(uid, routeProblems.map(({ reason, message }) => `${reason}: ${message}\n`).join(''));
    }
    this.#recorded = recorded;
  }
}
