/** Runs the routes of a server: the controller, the addresses in the objects' statuses, and the data planes of all nodes. */
import type { Service } from '../../api/gen/core-v1.ts';
import { Nodes, Services } from '../../api/gen/resources.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import { createEventBroadcaster } from '../../client/event-broadcaster.ts';
import type { Client } from '../../client/client.ts';
import type { InformerFactory } from '../../client/informer.ts';
import { createInformerFactory } from '../../client/informer-factory.ts';
import { createAuthority, issueCertificate, type KeyPairPem } from '../../component-helpers/pki/certificates.ts';
import { GatewayController } from '../../gateway/gateway-controller.ts';
import { runIngressStatus } from '../../gateway/ingress/ingress-status-controller.ts';
import type { Platform } from '../../platform/platform.ts';
import { background } from '../../platform/unexpected.ts';
import type { ComponentStatus } from '../cluster-status.ts';
import type { ObjectStore } from '../../apiserver/registry/object-store.ts';
import type { GatewayApi } from '../../gateway/gateway-api/gateway-api.ts';
import {
  gatewayApiDefined,
  servedGatewayApi,
  servesKind,
  whenServed,
  type OptionalKind,
} from './gateway-definitions.ts';
import { createInspectCertificate } from './inspect-certificate.ts';
import { GATEWAY_PRINCIPAL, type GatewayConfig, type GatewayDeps } from './gateway-contract.ts';
import { ServingNodes } from './nodes/serving-nodes.ts';

/** How long ingresses wait for Gateways after a start. */
const GATEWAY_API_WAIT_MS = 10_000;
const DEFAULT_CERTIFICATE_MS = 3650 * 86_400_000;

export interface ServedRoutes {
  /** Resolves after the signal's abort. */
  readonly ended: Promise<void>;
  status(): readonly ComponentStatus[];
}

/** Resolves once the objects are loaded. */
export async function serveRoutes(
  deps: GatewayDeps,
  config: GatewayConfig,
  signal: AbortSignal,
): Promise<ServedRoutes> {
  const { platform, controlPlane } = deps;
  const { instance, ports } = config;
  const client = controlPlane.clientFor(GATEWAY_PRINCIPAL, 'keelson-gateway');
  const sources = { client, clock: platform.clock, random: platform.random, log: platform.log };
  const informers = createInformerFactory(sources);
  const events = createEventBroadcaster(sources);
  events.start(signal);
  const recorder = events.recorderFor('keelson-gateway', instance.nodeName);
  const services = informers.informer(Services);
  const warn = (message: string): void => {
    for (const ingress of controller.served()) recorder.event(ingress, 'Warning', 'PortUnavailable', message);
  };
  const nodes = new ServingNodes(deps, config, { warn, services: () => services.list(), signal });
  const onService = (service: Service): void => {
    if (service.spec?.type === 'LoadBalancer') nodes.touch();
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
      publish: (snapshot) => nodes.publish(snapshot),
    },
    {
      ports,
      defaultCertificate: await defaultCertificate(platform),
      portUser: config.machinePorts.userOf,
    },
  );
  const status = runIngressStatus({ client, informers, platform }, signal);
  informers.start(signal);
  const gatewayApi = serveGatewayApi({ deps, client, informers, controller }, signal);
  background(platform.log, 'the Gateway API is not served', gatewayApi);
  // A first snapshot without Gateways would close their ports.
  if (servedGatewayApi(deps.controlPlane.server.objects) !== undefined)
    await Promise.race([gatewayApi, sleepUnlessAborted(platform.clock, GATEWAY_API_WAIT_MS, signal)]).catch(
      () => undefined, // already logged
    );
  await controller.start(signal);
  const ended = Promise.all([nodes.run(signal), status]).then(() => controller.stop());
  return {
    ended,
    status: () => nodes.status(),
  };
}

/**
 * Waits for the kinds of the Gateway API. The controller has separate informers for them, so that a missing kind delays nothing
 * else.
 */
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
  const { GatewayApi: Api } = await import('../../gateway/gateway-api/gateway-api.ts');
  const api = new Api(
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
    // A first snapshot without the routes that were served so far would end them.
    const { objects } = deps.controlPlane.server;
    const optional = [
      followOptional('tlsroutes', { objects, api }, signal),
      followOptional('backendtlspolicies', { objects, api }, signal),
    ];
    const served = optional.filter(({ isServed }) => isServed).map(({ followed }) => followed);
    for (const { followed } of optional) background(log, 'a kind of the Gateway API is not served', followed);
    await Promise.all([api.start(signal), ...served]);
  } catch (error) {
    if (signal.aborted) return;
    throw error;
  }
  controller.useGatewayApi(api, informers.informer(Nodes));
}

/** Follows a kind once it is served. */
function followOptional(
  kind: OptionalKind,
  { objects, api }: { readonly objects: ObjectStore; readonly api: GatewayApi },
  signal: AbortSignal,
): { readonly isServed: boolean; readonly followed: Promise<void> } {
  const follow = async (): Promise<void> => {
    if (!(await whenServed(objects, kind, signal))) return;
    try {
      await (kind === 'tlsroutes' ? api.followTlsRoutes(signal) : api.followPolicies(signal));
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  };
  return { isServed: servesKind(objects, kind), followed: follow() };
}

/** The certificate for unknown names. Its authority signs nothing else, and its key is discarded. */
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
