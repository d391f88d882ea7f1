/**
 * The control plane in one process: store, API server, controllers, scheduler. Components talk to the server in-process,
 * each under its own identity, through the same filters as everybody else.
 */
import { onAbort } from '../../base/abort.ts';
import type { BuiltInApi } from '../../apiserver/aggregation/built-in-api.ts';
import { createMetricsApi } from '../../apiserver/metrics-api/metrics-api.ts';
import { createUsageSource } from '../../apiserver/metrics-api/usage-source.ts';
import { createAdmissionPlugins } from '../../apiserver/admission/list.ts';
import { createPostConversionReview } from '../../apiserver/apiextensions/post-conversion-review.ts';
import { createApiServer, type ApiServer, type ApiServerDeps } from '../../apiserver/api-server.ts';
import { createBootstrapTokenAuthenticator } from '../../apiserver/authn/bootstrap-token.ts';
import type { TokenAuthenticator } from '../../apiserver/authn/bearer-token.ts';
import { createServiceAccountTokens, type ServiceAccountTokens } from '../../apiserver/authn/service-account-tokens.ts';
import { createNodeAuthorizer } from '../../apiserver/authz/node-authorizer.ts';
import { createRbacAuthorizer, type RbacAuthorizer } from '../../apiserver/authz/rbac-authorizer.ts';
import {
  type BootstrapConfig,
  bootstrapCluster,
  keepKubernetesService,
  type KubernetesServiceKeeper,
} from '../../apiserver/bootstrap/bootstrap.ts';
import { createEndpointLeases } from '../../apiserver/bootstrap/endpoint-leases.ts';
import { COMPACTION_PERIOD_MS } from '../../apiserver/compaction.ts';
import { createClientAuthoritiesKeeper } from '../../apiserver/bootstrap/cluster-authentication-trust.ts';
import { bootstrapNodeJoin } from '../../apiserver/bootstrap/node-join.ts';
import { bootstrapServerJoin } from '../../apiserver/bootstrap/server-join.ts';
import { componentRoles } from '../../apiserver/bootstrap/component-roles.ts';
import { withHttpFilters } from '../../apiserver/filters/http-filters.ts';
import { decide } from '../../apiserver/filters/authorization.ts';
import { createHttpHandler } from '../../apiserver/http-adapter.ts';
import type { NonResourceRoute } from '../../apiserver/non-resource-routes.ts';
import { versionInfo } from '../../apiserver/routes/server-info.ts';
import type { Authorizer } from '../../apiserver/authz/contract.ts';
import type { ObjectStore } from '../../apiserver/registry/object-store.ts';
import { createServerStorage, type ServerStorage } from '../../apiserver/server-storage.ts';
import type { Principal } from '../../api/transport.ts';
import type { Client } from '../../client/client.ts';
import { createInProcessClient } from '../../client/in-process-transport.ts';
import type { ExplainPod } from '../../component-helpers/pod-why.ts';
import type { ClusterPki } from '../../component-helpers/pki/cluster-pki.ts';
import type { HttpServer, ListenHttp, ListenOptions } from '../../platform/http.ts';
import type { TlsOptions } from '../../platform/net.ts';
import type { ControllerSettings } from '../../controllers/controller.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Store } from '../../storage/store.ts';
import { apiServerNames } from './api-server-names.ts';
import type { ApiServerSetup } from './api-server-setup.ts';
import { clientAuthoritiesOf, type RenewedAuthorities } from './client-authorities.ts';
import { createComponentHealth, type LedPart } from './component-health.ts';
import { authenticatorsOf, authorizersOf, tokenKinds } from './authentication.ts';
import { createYamlCodec } from '../yaml/yaml-threads.ts';
import { defaultIssuer } from '../instance/host-address.ts';
import type { Instance } from '../instance/instance.ts';
import { createLeaving, type Leaving } from './leaving.ts';
import { clusterInfoYaml } from '../kubeconfig.ts';
import { kubernetesServiceAddress } from '../network/pod-network.ts';
import { createRegistry, type Registry } from './registry-services.ts';
import type { SchedulerSetup } from './scheduler-setup.ts';
import { createServerIdentity } from './server-identity.ts';
import { parseIp, rangesOf } from '../../base/cidr.ts';
import type { ServerSettings } from './server-settings.ts';

/** What the control plane is made from. */
export interface ControlPlaneDeps {
  readonly platform: Platform;
  readonly store: Store;
  readonly pki: ControlPlanePki;
  readonly instance: Instance;
  /** Address of this machine that pods can reach. */
  readonly hostAddress: string;
  readonly runtimeConfig: string;
  readonly settings?: ServerSettings;
  /** What the API server's options add and change. */
  readonly setup?: ApiServerSetup;
  readonly controllers?: ControllerSettings;
  /** Default: upstream's default scheduler. */
  readonly scheduler?: SchedulerSetup;
  /** Explains pods when the scheduler is not started through this control plane. */
  readonly explainPod?: () => ExplainPod | undefined;
  /** Whether controllers or scheduler run in this process without having been started by `runControllers` or `startScheduler`. */
  readonly runsBeside?: (part: LedPart) => boolean;
  /** Serves what makes a machine another server of this cluster. */
  readonly serverJoin?: NonResourceRoute;
  /** Takes the place of the token service it is given: simulation makes its results arrive in a repeatable order. */
  readonly wrapTokens?: (tokens: ServiceAccountTokens) => ServiceAccountTokens;
}

/** Certificates and keys the control plane itself uses; those it serves with are given to `serve`. */
export interface ControlPlanePki
  extends Pick<ClusterPki, 'kubeletClient' | 'serviceAccount'>, Partial<Pick<ClusterPki, 'frontProxy' | 'apiServer'>> {
  /** With its key the control plane signs certificate requests; without, it leaves them. */
  readonly ca: Pick<ClusterPki['ca'], 'certPem'> & Partial<ClusterPki['ca']>;
  /** What kubelets' certificates are verified against; absent: the authority of the cluster. */
  readonly kubeletTrust?: TlsOptions;
}

/** The running control plane. */
export interface ControlPlane {
  readonly server: ApiServer;
  /** A client that acts as this user. */
  clientFor(principal: Principal, userAgent: string): Client;
  /** The administrator's client. */
  readonly admin: Client;
  readonly tokens: ServiceAccountTokens;
  /** Store read, bootstrap objects written. */
  start(signal: AbortSignal): Promise<void>;
  /** Opens a port; `stop` closes it. */
  serve(options: ListenOptions, listen?: ListenHttp): Promise<HttpServer>;
  /** Tells aggregated API servers of authorities that were renewed; what is left out is as it was at the start. */
  tellAuthorities(renewed: RenewedAuthorities): void;
  /** Resolves when the controllers have ended after the abort. */
  runControllers(signal: AbortSignal): Promise<void>;
  /** Resolves once the scheduler runs. */
  startScheduler(signal: AbortSignal): Promise<void>;
  /** Before `stop`: nothing new is taken, and resolves when what is under way has ended, or took too long. */
  drain(): Promise<void>;
  stop(): Promise<void>;
}

const ADMIN: Principal = { name: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] };

function issuerOf({ settings, instance }: ControlPlaneDeps): string {
  return settings?.tokens?.issuers[0] ?? defaultIssuer(instance);
}

/** The issuer and checker of service-account tokens. */
function createTokens(deps: ControlPlaneDeps, objects: () => ObjectStore): ServiceAccountTokens {
  const { platform, pki } = deps;
  const { privateKeyPem, publicKeyPem } = pki.serviceAccount;
  const issuer = issuerOf(deps);
  const chosen = deps.settings?.tokens;
  const own = createServiceAccountTokens(
    { platform, objects },
    {
      issuer,
      acceptedIssuers: chosen?.issuers.slice(1) ?? [],
      audiences: chosen?.audiences ?? [issuer],
      ...chosen?.lifetimes,
      keys: chosen?.keys ?? [{ privateKeyPem, publicKeyPem }],
    },
  );
  return deps.wrapTokens?.(own) ?? own;
}

interface ServerParts {
  readonly storage: ServerStorage;
  readonly kinds: readonly TokenAuthenticator[];
  readonly rbac: RbacAuthorizer;
  readonly authorizers: readonly Authorizer[];
  readonly registry: Registry;
  readonly leaving: Leaving;
}

function assembleServer(deps: ControlPlaneDeps, parts: ServerParts): ApiServer {
  const { platform, instance, setup } = deps;
  const { storage, kinds, rbac, authorizers, registry, leaving } = parts;
  const { clock } = platform;
  const settings = deps.settings ?? {};
  return createApiServer(
    {
      storage,
      platform,
      eventLoop: platform.eventLoop,
      definitions: registry.definitions,
      authenticators: authenticatorsOf(kinds, setup, { clock, log: platform.log.child('authentication') }),
      authorizers,
      admission: createAdmissionPlugins(
        {
          objects: () => storage.objects,
          registry: storage.registry,
          net: platform.net,
          crypto: platform.crypto,
          log: platform.log.child('apiserver'),
          metrics: platform.metrics,
          random: platform.random.fork('admission'),
          authorizer: { authorize: (asked) => decide(authorizers, asked) },
          rulesFor: rbac.rulesFor,
          clock,
          ...(setup === undefined ? {} : { config: setup.admission.config }),
        },
        setup?.admission.plugins,
      ),
      healthChecks: [leaving.check],
      routes: deps.serverJoin === undefined ? registry.routes : [...registry.routes, deps.serverJoin],
      aggregation: aggregation(deps, storage),
      ...(setup?.auditor === undefined ? {} : { auditor: setup.auditor }),
      postConversionReview: createPostConversionReview({
        ...platform,
        objects: () => storage.objects,
        random: platform.random.fork('conversion-endpoints'),
      }),
    },
    {
      version: versionInfo({
        compiler: `node ${process.versions.node}`,
        platform: `linux/${process.arch === 'x64' ? 'amd64' : process.arch}`,
      }),
      serverAddress: `${deps.hostAddress}:${instance.httpsPort}`,
      runtimeConfig: deps.runtimeConfig,
      maxRequestsInFlight: settings.maxRequestsInFlight ?? 400,
      maxMutatingRequestsInFlight: settings.maxMutatingRequestsInFlight ?? 200,
      priorityAndFairness: settings.priorityAndFairness ?? true,
      compactionPeriodMs: settings.compactionPeriodMs ?? COMPACTION_PERIOD_MS,
      ...(settings.requestTimeoutMs !== undefined && { requestTimeoutMs: settings.requestTimeoutMs }),
      ...(settings.http && { minRequestTimeoutMs: settings.http.minRequestTimeoutMs }),
    },
  );
}

/** Other servers' APIs behind this one, and the metrics API that this one serves itself. */
function aggregation(deps: ControlPlaneDeps, { objects }: ServerStorage): NonNullable<ApiServerDeps['aggregation']> {
  return {
    net: deps.platform.net,
    identity: () => {
      const { certPem, keyPem } = deps.pki.frontProxy ?? {};
      return certPem === undefined || keyPem === undefined ? {} : { certPem, keyPem };
    },
    builtIns: [metricsApi(deps, objects)],
    rejectsRedirects: deps.settings?.rejectForwardingRedirects ?? true,
  };
}

/** Towards kubelets: whom we show ourselves as, and what their certificates are verified against. */
function kubeletTls({ ca, kubeletClient, kubeletTrust }: ControlPlanePki): TlsOptions {
  const { certPem, keyPem } = kubeletClient;
  return { certPem, keyPem, ...(kubeletTrust ?? { caPem: ca.certPem }) };
}

function metricsApi({ platform, pki, settings }: ControlPlaneDeps, objects: ObjectStore): BuiltInApi {
  const { net, clock } = platform;
  const log = platform.log.child('metrics-api');
  const usage = createUsageSource({
    objects,
    net,
    clock,
    log,
    kubeletTls: () => kubeletTls(pki),
    ...(settings?.kubeletAddressTypes && { addressTypes: settings.kubeletAddressTypes }),
  });
  return createMetricsApi({ objects, usage });
}

/** Puts the control plane together; nothing runs before `start`. */
export function createControlPlane(deps: ControlPlaneDeps): ControlPlane {
  const { platform, store, pki, instance } = deps;
  const { clock } = platform;
  const storage = createServerStorage({ store, platform });
  const objects = () => storage.objects;
  const tokens = createTokens(deps, objects);
  const rbac = createRbacAuthorizer(storage.objects);
  const nodes = createNodeAuthorizer(storage.objects, componentRoles['system:node']?.rules ?? []);
  let explain: ExplainPod | undefined;
  const authorizers = authorizersOf({ nodes, rbac }, deps.setup);
  const bootstrapTokens = createBootstrapTokenAuthenticator({ objects, clock, crypto: platform.crypto });
  const own = deps.settings?.bootstrapTokens === false ? [tokens] : [tokens, bootstrapTokens];
  const kinds = tokenKinds(own, deps.setup);
  const health = createComponentHealth({ ...deps, clock, objects: storage.objects });
  const registry = createRegistry({
    platform,
    store,
    objects: storage.objects,
    tokens,
    kinds,
    rbac,
    authorizers,
    instance,
    kubeletTls: () => kubeletTls(pki),
    discovery: {
      issuer: issuerOf(deps),
      jwksUri: deps.settings?.tokens?.jwksUri ?? `${serverUrl(deps, deps.settings?.externalHost)}/openid/v1/jwks`,
    },
    settings: deps.settings ?? {},
    explainPod: () => explain ?? deps.explainPod?.(),
    componentHealth: health.read,
  });
  const { http } = deps.settings ?? {};
  const leaving = createLeaving(clock, http, deps.settings?.requestTimeoutMs);
  const server = assembleServer(deps, { storage, kinds, rbac, authorizers, registry, leaving });
  const clientFor = (principal: Principal, userAgent: string): Client =>
    createInProcessClient({ handler: server.handler, principal, clock, userAgent });
  const listening: HttpServer[] = [];
  let stopRegistry = (): void => undefined;
  let keeper: KubernetesServiceKeeper | undefined;
  const advertised = { ip: deps.hostAddress, port: instance.httpsPort };
  const identity = createServerIdentity(platform, storage, `${advertised.ip}:${advertised.port}`);
  const servers = createEndpointLeases({ store, clock, log: platform.log }, advertised);
  const authorities = createClientAuthoritiesKeeper(
    { ...platform, objects: storage.objects },
    clientAuthoritiesOf(deps),
  );
  return {
    server,
    clientFor,
    tokens,
    admin: clientFor(ADMIN, 'keelson'),
    async start(signal) {
      await server.start(signal);
      stopRegistry = registry.start();
      const born = {
        kubernetesServiceIp: kubernetesServiceAddress(instance.serviceCidr),
        serviceCidrs: deps.settings?.serviceClusterIpRanges ?? rangesOf(instance.serviceCidr),
        advertised: servers.addresses,
        nowMs: () => clock.nowMs(),
        localPathClass: deps.settings?.localPathClass !== false,
      };
      await servers.start(() => keeper?.check());
      await bootstrapAll({ deps, authorities }, storage.objects, born);
      authorities.start();
      keeper = keepKubernetesService(storage.objects, born, (err) =>
        platform.log.error('cannot restore the kubernetes Service', { err }),
      );
      if (deps.settings?.identityLease !== false) await identity.start(signal);
    },
    async serve(options, listen = platform.listenHttp) {
      const handler = createHttpHandler(server.handler, platform.random.fork('audit-ids'), {
        ...platform,
        yaml: createYamlCodec(platform.threads),
      });
      const filters = http && { ...http, refusesNew: leaving.refusesNew };
      const opened = await listen(
        withClientCas(options, deps.setup),
        filters === undefined ? handler : withHttpFilters(handler, filters, platform.random.fork('goaway')),
      );
      listening.push(opened);
      return opened;
    },
    tellAuthorities: (renewed) => authorities.use(clientAuthoritiesOf(deps, renewed)),
    async runControllers(signal) {
      const { runBuiltInControllers } = await builtInClients();
      const { certPem, keyPem } = pki.ca;
      const signing = keyPem === undefined ? {} : { clusterSigning: { certPem, keyPem } };
      const ended = health.runs('controller-manager');
      return runBuiltInControllers(
        { platform, clientFor },
        {
          instance,
          rootCaPem: certPem,
          ...apiServerNames(platform, pki, instance),
          signServiceAccountToken: tokens.issueLegacy,
          ...signing,
          ...(deps.controllers && { settings: deps.controllers }),
        },
        signal,
      ).finally(ended);
    },
    async startScheduler(signal) {
      const { startBuiltInScheduler } = await builtInClients();
      const { hostname: hostName } = await platform.host.info();
      const config = { hostName, ...(deps.scheduler && { setup: deps.scheduler }) };
      const scheduler = await startBuiltInScheduler({ platform, clientFor }, config, signal);
      explain = scheduler.why;
      const ended = health.runs('scheduler');
      onAbort(signal, ended);
    },
    drain: () => leaving.drain({ busy: () => server.busy(), watches: () => server.watches(), listening }),
    async stop() {
      await Promise.all(listening.splice(0).map((opened) => opened.close(500)));
      keeper?.stop();
      authorities.stop();
      identity.stop();
      await servers.stop();
      stopRegistry();
      rbac.stop();
      nodes.stop();
      await server.stop();
      await deps.setup?.auditor?.stop();
    },
  };
}

/** Controllers and scheduler, loaded when they start: the API server is not kept waiting for their code. */
const builtInClients = (): Promise<typeof import('./built-in-clients.ts')> => import('./built-in-clients.ts');

/** All a cluster is born with. A new one is known by what the first of these finds: it looks before the others write. */
async function bootstrapAll(
  { deps, authorities }: { readonly deps: ControlPlaneDeps; readonly authorities: { publish(): Promise<void> } },
  objects: ObjectStore,
  born: BootstrapConfig,
): Promise<void> {
  const { settings, serverJoin } = deps;
  await Promise.all([
    bootstrapCluster(objects, born),
    authorities.publish(),
    settings?.servesJoin === false ? undefined : publishJoin(deps, objects),
    serverJoin && bootstrapServerJoin(objects),
  ]);
}

/** What machines that join look for. */
async function publishJoin(deps: ControlPlaneDeps, objects: ObjectStore): Promise<void> {
  const { pki, instance } = deps;
  await bootstrapNodeJoin(objects, {
    clusterInfoKubeconfig: clusterInfoYaml({ server: serverUrl(deps), caPem: pki.ca.certPem }),
    clusterConfig: {
      clusterCidr: instance.clusterCidr,
      serviceCidr: instance.serviceCidr,
      clusterDomain: instance.clusterDomain,
      cni: instance.cni ?? 'keelson',
      dns: instance.dns ?? 'keelson',
    },
  });
}

/** Front proxies show certificates of an authority of their own. */
function withClientCas(options: ListenOptions, setup: ApiServerSetup | undefined): ListenOptions {
  const extra = setup?.extraClientCaPem ?? '';
  if (extra === '' || options.tls === undefined) return options;
  return { ...options, tls: { ...options.tls, clientCaPem: `${options.tls.clientCaPem ?? ''}\n${extra}` } };
}

/** Where other machines reach the API; a name may bring its port along. */
function serverUrl({ hostAddress, instance }: ControlPlaneDeps, name = hostAddress): string {
  const host = parseIp(name)?.family === 6 ? `[${name}]` : name;
  return /[^\]]:\d+$/.test(host) ? `https://${host}` : `https://${host}:${instance.httpsPort}`;
}
