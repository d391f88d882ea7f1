/** The routes of a node once there are any: controller, addresses in the objects' status, data plane. */
import type { Principal } from '../../api/transport.ts';
import type { Service } from '../../api/gen/core-v1.ts';
import { Nodes, Services } from '../../api/gen/resources.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import { isReason } from '../../api/status-error.ts';
import { createEventBroadcaster } from '../../client/event-broadcaster.ts';
import type { Client } from '../../client/client.ts';
import type { InformerFactory } from '../../client/informer.ts';
import { createInformerFactory } from '../../client/informer-factory.ts';
import { GATEWAY_PORTS_ANNOTATION } from '../../component-helpers/gateway-class.ts';
import { createAuthority, issueCertificate, type KeyPairPem } from '../../component-helpers/pki/certificates.ts';
import { GatewayController } from '../../gateway/gateway-controller.ts';
import { runIngressStatus } from '../../gateway/ingress/ingress-status-controller.ts';
import type { DataPlaneReport, ListenerState } from '../../gateway/snapshot/snapshot.ts';
import type { Platform } from '../../platform/platform.ts';
import { background } from '../../platform/unexpected.ts';
import type { ComponentStatus } from '../cluster-status.ts';
import { portHolder } from '../instance/preflight.ts';
import { nodePrincipal } from '../node/node-connection.ts';
import { gatewayApiDefined } from './gateway-definitions.ts';
import { DataPlaneDaemon } from './data-plane-daemon.ts';
import { createInspectCertificate } from './inspect-certificate.ts';
import type { GatewayConfig, GatewayDeps } from './gateway-contract.ts';

const GATEWAY: Principal = { name: 'keelson:gateway', groups: ['system:authenticated'] };
const DEFAULT_CERTIFICATE_MS = 3650 * 86_400_000;

export interface ServedRoutes {
  /** Resolves after the signal's abort. */
  readonly ended: Promise<void>;
  status(): readonly ComponentStatus[];
  openPorts(): readonly number[];
}

/** Resolves once the objects are known. */
export async function serveRoutes(
  deps: GatewayDeps,
  config: GatewayConfig,
  signal: AbortSignal,
): Promise<ServedRoutes> {
  const { platform, controlPlane } = deps;
  const { instance, ports } = config;
  const client = controlPlane.clientFor(GATEWAY, 'keelson-gateway');
  const sources = { client, clock: platform.clock, random: platform.random, log: platform.log };
  const informers = createInformerFactory(sources);
  const events = createEventBroadcaster(sources);
  events.start(signal);
  const recorder = events.recorderFor('keelson-gateway', instance.nodeName);
  const services = informers.informer(Services);
  const warn = (message: string): void => {
    for (const ingress of controller.served()) recorder.event(ingress, 'Warning', 'PortUnavailable', message);
  };
  const announced = new PortAnnouncements(deps, config, {
    warn,
    services: () => services.list(),
    signal,
  });
  const take = (report: DataPlaneReport | undefined): void =>
    background(platform.log, 'the ports of routes were not published', announced.take(report));
  const daemon = new DataPlaneDaemon(platform, instance, take);
  const onService = (service: Service): void => {
    if (service.spec?.type === 'LoadBalancer') take(daemon.report());
  };
  services.addHandler({
    onAdd: onService,
    onUpdate: (_old, service) => onService(service),
    onDelete: onService,
  });
  const controller = new GatewayController(
    {
      informers,
      recorder,
      clock: platform.clock,
      log: platform.log,
      inspect: createInspectCertificate(),
      publish: (snapshot) => daemon.publish(snapshot),
    },
    {
      ports,
      defaultCertificate: await defaultCertificate(platform),
      portUser: config.machinePorts.userOf,
    },
  );
  const status = runIngressStatus({ client, informers, platform }, signal);
  informers.start(signal);
  await controller.start(signal);
  const gatewayApi = serveGatewayApi({ deps, client, informers, controller }, signal);
  background(platform.log, 'the Gateway API is not served', gatewayApi);
  const ended = Promise.all([daemon.run(signal), status]).then(() => controller.stop());
  return {
    ended,
    status: () => announced.status(),
    openPorts: () => announced.openPorts(),
  };
}

/** Waits for the kinds of the Gateway API; their informers are the controller's own, so that a missing kind holds up nothing. */
async function serveGatewayApi(
  {
    deps,
    client,
    informers,
    controller,
  }: {
    deps: GatewayDeps;
    client: Client;
    informers: InformerFactory;
    controller: GatewayController;
  },
  signal: AbortSignal,
): Promise<void> {
  const { clock, log, random } = deps.platform;
  const kinds = await gatewayApiDefined(deps.controlPlane.server.objects, signal);
  if (kinds === undefined) return;
  const { GatewayApi } = await import('../../gateway/gateway-api/gateway-api.ts');
  const api = new GatewayApi(
    {
      client,
      informers: createInformerFactory({ client, clock, random, log }),
      clock,
      log,
      onChange: () => controller.touch(),
    },
    kinds.grantVersion,
  );
  try {
    await api.start(signal);
  } catch (error) {
    if (signal.aborted) return;
    throw error;
  }
  controller.useGatewayApi(api, informers.informer(Nodes));
}

/** The load balancer whose rules take the port's traffic before any listener sees it. */
function serviceOnPort(services: readonly Service[], port: number): Service | undefined {
  return services.find(
    ({ spec, status }) =>
      spec?.type === 'LoadBalancer' &&
      (spec.loadBalancerClass ?? '') === '' &&
      (status?.loadBalancer?.ingress ?? []).length > 0 &&
      (spec.ports ?? []).some((one) => one.port === port && (one.protocol ?? 'TCP') === 'TCP'),
  );
}

const RETRY_MS = 1000;

interface Surroundings {
  readonly warn: (message: string) => void;
  readonly services: () => readonly Service[];
  readonly signal: AbortSignal;
}

/** Says on the Node, in events and in the status which ports the data plane has, and who keeps others from it. */
class PortAnnouncements {
  readonly #deps: GatewayDeps;
  readonly #config: GatewayConfig;
  readonly #surroundings: Surroundings;
  #messages: readonly string[] = [];
  #openPorts: readonly number[] = [];
  #isRunning = false;
  #wanted = '';
  #annotated: string | undefined;

  constructor(deps: GatewayDeps, config: GatewayConfig, surroundings: Surroundings) {
    this.#deps = deps;
    this.#config = config;
    this.#surroundings = surroundings;
  }

  async take(report: DataPlaneReport | undefined): Promise<void> {
    this.#isRunning = report !== undefined;
    const messages: string[] = [];
    const open: number[] = [];
    for (const state of report?.listeners ?? []) {
      const message = await this.#messageOf(state);
      if (message === undefined) open.push(state.port);
      else messages.push(message);
    }
    for (const message of messages) {
      if (this.#messages.includes(message)) continue;
      this.#deps.platform.log.warn(message);
      this.#surroundings.warn(message);
    }
    this.#messages = messages;
    this.#openPorts = open.sort((a, b) => a - b);
    await this.#annotate(this.#openPorts.join(','));
  }

  openPorts(): readonly number[] {
    return this.#openPorts;
  }

  status(): readonly ComponentStatus[] {
    if (!this.#isRunning) return [];
    return [{ name: 'gateway', healthy: this.#messages.length === 0, message: this.#messages.join('; ') }];
  }

  /** Why the port does not serve; undefined: it does. */
  async #messageOf({ port, problem }: ListenerState): Promise<string | undefined> {
    const service = serviceOnPort(this.#surroundings.services(), port)?.metadata;
    if (service !== undefined)
      return `port ${port} of routes belongs to service ${service.namespace}/${service.name} of type LoadBalancer`;
    if (problem === undefined) return undefined;
    if (problem !== 'EADDRINUSE') return `port ${port} cannot be opened: ${problem}`;
    const holder = (await portHolder(this.#deps.platform.files, port)) ?? 'another program';
    return `port ${port} of routes is used by ${holder}; stop it, or start with another --gateway-${this.#flag(port)}-port`;
  }

  #flag(port: number): 'http' | 'https' {
    return port === this.#config.ports.https ? 'https' : 'http';
  }

  async #annotate(text: string): Promise<void> {
    this.#wanted = text;
    const { platform, controlPlane } = this.#deps;
    const { signal } = this.#surroundings;
    const { nodeName } = this.#config.instance;
    const client = controlPlane.clientFor(nodePrincipal(nodeName), 'keelson-gateway');
    const annotations = { [GATEWAY_PORTS_ANNOTATION]: text === '' ? null : text };
    const patch = { metadata: { annotations } };
    while (!signal.aborted && this.#wanted === text && this.#annotated !== text) {
      try {
        await client.resource(Nodes).patch({ name: nodeName }, { type: 'merge', patch }, { signal });
        this.#annotated = text;
      } catch (error) {
        // A node that has not registered yet.
        if (!signal.aborted && !isReason(error, 'NotFound'))
          platform.log.warn('the ports of routes were not published, again later', { err: error });
        await sleepUnlessAborted(platform.clock, RETRY_MS, signal);
      }
    }
  }
}

/** Shows clients that nothing of theirs is here: signed by an authority that exists for nothing else and is forgotten. */
async function defaultCertificate({ crypto, random, clock }: Platform): Promise<KeyPairPem> {
  const deps = { crypto, random, nowMs: () => clock.nowMs() };
  const authority = await createAuthority(deps, 'keelson gateway', DEFAULT_CERTIFICATE_MS);
  return issueCertificate(deps, authority, {
    commonName: 'keelson default certificate',
    organizations: [],
    dnsNames: ['default.keelson.invalid'],
    usages: ['server'],
    validityMs: DEFAULT_CERTIFICATE_MS,
  });
}
