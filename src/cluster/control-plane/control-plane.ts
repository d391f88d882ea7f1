/**
 * The control plane in one process: store, API server, controllers, scheduler. Components call the server in-process,
 * each with its own identity, through the same filters as other clients.
 */
import type { ApiServer } from '../../apiserver/api-server-contract.ts';
import { createBootstrapTokenAuthenticator } from '../../apiserver/authn/bootstrap-token.ts';
import { type ServiceAccountTokens } from '../../apiserver/authn/service-account-tokens.ts';
import { createNodeAuthorizer } from '../../apiserver/authz/node-authorizer.ts';
import { createRbacAuthorizer } from '../../apiserver/authz/rbac-authorizer.ts';
import { keepKubernetesService, type KubernetesServiceKeeper } from '../../apiserver/bootstrap/bootstrap.ts';
import { createEndpointLeases } from '../../apiserver/bootstrap/endpoint-leases.ts';
import { createClientAuthoritiesKeeper } from '../../apiserver/bootstrap/cluster-authentication-trust.ts';
import { componentRoles } from '../../apiserver/bootstrap/component-roles.ts';
import { withHttpFilters } from '../../apiserver/filters/http-filters.ts';
import { createHttpHandler } from '../../apiserver/http-adapter.ts';
import { createServerStorage } from '../../apiserver/server-storage.ts';
import type { Principal } from '../../api/transport.ts';
import type { Client } from '../../client/client.ts';
import { createInProcessClient } from '../../client/in-process-transport.ts';
import type { HttpServer, ListenHttp, ListenOptions } from '../../platform/http.ts';
import type { ApiServerSetup } from './api-server-setup.ts';
import { clientAuthoritiesOf, type RenewedAuthorities } from './client-authorities.ts';
import { createComponentHealth } from './component-health.ts';
import { authorizersOf, tokenKinds } from './authentication.ts';
import { createYamlCodec } from '../yaml/yaml-threads.ts';
import { createLeaving } from './leaving.ts';
import { kubernetesServiceAddress } from '../network/pod-network.ts';
import { createRegistry } from './registry-services.ts';
import { createServerIdentity } from './server-identity.ts';
import { ServedNames } from './served-names.ts';
import { rangesOf } from '../../base/cidr.ts';
import { assembleServer, createTokens, issuerOf } from './assemble-server.ts';
import { bootstrapAll, serverUrl } from './bootstrap-objects.ts';
import { createBuiltInComponents } from './built-in-components.ts';
import type { ControlPlaneDeps } from './control-plane-deps.ts';
import { createKubeletAccess } from './kubelet-access.ts';

export interface ControlPlane {
  readonly server: ApiServer;
  /** A client that acts as this user. */
  clientFor(principal: Principal, userAgent: string): Client;
  /** The administrator's client. */
  readonly admin: Client;
  readonly tokens: ServiceAccountTokens;
  /** Reads the store and writes the initial objects. */
  start(signal: AbortSignal): Promise<void>;
  /** Opens a port; `stop` closes it. */
  serve(options: ListenOptions, listen?: ListenHttp): Promise<HttpServer>;
  /** Publishes renewed authorities to aggregated API servers; omitted ones stay as at the start. */
  publishAuthorities(renewed: RenewedAuthorities): void;
  /** Resolves when the controllers have ended after the abort. */
  runControllers(signal: AbortSignal): Promise<void>;
  /** Resolves once the scheduler runs. */
  startScheduler(signal: AbortSignal): Promise<void>;
  /** Refuses new requests before `stop`; resolves when those in progress have ended, or after a timeout. */
  drain(): Promise<void>;
  stop(): Promise<void>;
}

const ADMIN: Principal = { name: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] };

/** Nothing runs before `start`. */
export function createControlPlane(deps: ControlPlaneDeps): ControlPlane {
  const { platform, store, instance } = deps;
  const { clock } = platform;
  const storage = createServerStorage({ store, platform, history: deps.history });
  const tokens = createTokens(deps, () => storage.objects);
  const rbac = createRbacAuthorizer(storage.objects);
  const nodes = createNodeAuthorizer(storage.objects, componentRoles['system:node']?.rules ?? []);
  const authorizers = authorizersOf({ nodes, rbac }, deps.setup);
  const bootstrapTokens = createBootstrapTokenAuthenticator({ ...platform, objects: () => storage.objects });
  const kinds = tokenKinds(deps.settings?.bootstrapTokens === false ? [tokens] : [tokens, bootstrapTokens], deps.setup);
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
    kubelets: createKubeletAccess(deps, storage.objects),
    discovery: {
      issuer: issuerOf(deps),
      jwksUri: deps.settings?.tokens?.jwksUri ?? `${serverUrl(deps, deps.settings?.externalHost)}/openid/v1/jwks`,
    },
    settings: deps.settings ?? {},
    isolatesPages: deps.console !== undefined,
    explainPod: () => components.explainPod() ?? deps.explainPod?.(),
    componentHealth: health.read,
  });
  const leaving = createLeaving(clock, deps.settings?.http, deps.settings?.requestTimeoutMs);
  const local = () => components;
  const servedNames = new ServedNames(platform);
  const server = assembleServer(deps, { storage, kinds, rbac, authorizers, registry, leaving, local, servedNames });
  const clientFor = (principal: Principal, userAgent: string): Client =>
    createInProcessClient({ handler: server.handler, principal, clock, userAgent });
  const components = createBuiltInComponents({ deps, clientFor, tokens, health });
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
      const bootstrapConfig = {
        kubernetesServiceIp: kubernetesServiceAddress(instance.serviceCidr),
        serviceCidrs: deps.settings?.serviceClusterIpRanges ?? rangesOf(instance.serviceCidr),
        advertised: servers.addresses,
        nowMs: () => clock.nowMs(),
        localPath: deps.settings?.localPath ?? 'keelson',
        gatewayClass: deps.gatewayClass === true,
      };
      await servers.start(() => keeper?.check());
      await bootstrapAll({ deps, authorities }, storage.objects, bootstrapConfig);
      authorities.start();
      keeper = keepKubernetesService(storage.objects, bootstrapConfig, (err) =>
        platform.log.error('cannot restore the kubernetes Service', { err }),
      );
      if (deps.settings?.identityLease !== false) await identity.start(signal);
    },
    async serve(options, listen = platform.listenHttp) {
      const handler = createHttpHandler(server.handler, platform.random.fork('audit-ids'), {
        ...platform,
        yaml: createYamlCodec(platform.threads),
      });
      const http = deps.settings?.http;
      const filters = http && { ...http, refusesNew: leaving.refusesNew };
      const filtered = filters ? withHttpFilters(handler, filters, platform.random.fork('goaway')) : handler;
      const opened = await listen(withClientCas(options, deps.setup), filtered);
      listening.push(opened);
      return servedNames.follow(opened, options.tls);
    },
    publishAuthorities: (renewed) => authorities.use(clientAuthoritiesOf(deps, renewed)),
    runControllers: (signal) => components.runControllers(signal),
    startScheduler: (signal) => components.startScheduler(signal),
    drain: () => leaving.drain({ busy: () => server.busy(), watches: () => server.watches(), listening }),
    async stop() {
      await Promise.all([registry.kubelets.tunnels.close(), ...listening.splice(0).map((opened) => opened.close(500))]);
      keeper?.stop();
      authorities.stop();
      identity.stop();
      await servers.stop();
      stopRegistry();
      rbac.stop();
      nodes.stop();
      await server.stop();
      await Promise.all([deps.setup?.auditor?.stop(), deps.setup?.tracing?.stop()]);
    },
  };
}

/** Adds the authority that signs front proxies' client certificates. */
function withClientCas(options: ListenOptions, setup: ApiServerSetup | undefined): ListenOptions {
  const extra = setup?.extraClientCaPem ?? '';
  if (extra === '' || options.tls === undefined) return options;
  return { ...options, tls: { ...options.tls, clientCaPem: `${options.tls.clientCaPem ?? ''}\n${extra}` } };
}
