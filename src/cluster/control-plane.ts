/**
 * The control plane in one process: store, API server, controllers, scheduler. Components talk to the server in-process,
 * each under its own identity, through the same filters as everybody else.
 */
import { VERSION, KUBERNETES_VERSION } from '../base/version.ts';
import { createAdmissionPlugins } from '../apiserver/admission/list.ts';
import { createApiServer, type ApiServer } from '../apiserver/api-server.ts';
import { anonymousAuthenticator } from '../apiserver/authn/anonymous.ts';
import { createBootstrapTokenAuthenticator } from '../apiserver/authn/bootstrap-token.ts';
import { createBearerTokenAuthenticator } from '../apiserver/authn/bearer-token.ts';
import { clientCertificateAuthenticator } from '../apiserver/authn/client-certificate.ts';
import { createServiceAccountTokens, type ServiceAccountTokens } from '../apiserver/authn/service-account-tokens.ts';
import { createNodeAuthorizer } from '../apiserver/authz/node-authorizer.ts';
import {
  createRbacAuthorizer,
  privilegedGroupAuthorizer,
  type RbacAuthorizer,
} from '../apiserver/authz/rbac-authorizer.ts';
import { bootstrapCluster, keepKubernetesService } from '../apiserver/bootstrap/bootstrap.ts';
import { bootstrapNodeJoin } from '../apiserver/bootstrap/node-join.ts';
import { componentRoles } from '../apiserver/bootstrap/component-roles.ts';
import { decide } from '../apiserver/filters/authorization.ts';
import { createHttpHandler } from '../apiserver/http-adapter.ts';
import type { Authorizer } from '../apiserver/authz/contract.ts';
import type { ObjectStore } from '../apiserver/registry/object-store.ts';
import { createServerStorage, type ServerStorage } from '../apiserver/server-storage.ts';
import type { Principal } from '../api/transport.ts';
import type { Client } from '../client/client.ts';
import { createInProcessClient } from '../client/in-process-transport.ts';
import type { ClusterPki } from '../component-helpers/pki/cluster-pki.ts';
import type { HttpServer, ListenHttp, ListenOptions } from '../platform/http.ts';
import type { Platform } from '../platform/platform.ts';
import type { Store } from '../storage/store.ts';
import { runBuiltInControllers, startBuiltInScheduler } from './built-in-clients.ts';
import type { Instance } from './instance.ts';
import { clusterInfoYaml } from './kubeconfig.ts';
import { kubernetesServiceAddress } from './network/pod-network.ts';
import { createRegistry, type Registry } from './registry-services.ts';

/** What the control plane is made from. */
export interface ControlPlaneDeps {
  readonly platform: Platform;
  readonly store: Store;
  readonly pki: ControlPlanePki;
  readonly instance: Instance;
  /** Address of this machine that pods can reach. */
  readonly hostAddress: string;
  readonly runtimeConfig: string;
  /** Takes the place of the token service it is given: simulation makes its results arrive in a repeatable order. */
  readonly wrapTokens?: (tokens: ServiceAccountTokens) => ServiceAccountTokens;
}

/** Certificates and keys the control plane itself uses; those it serves with are given to `serve`. */
export interface ControlPlanePki extends Pick<ClusterPki, 'kubeletClient' | 'serviceAccount'> {
  /** With its key the control plane signs certificate requests; without, it leaves them. */
  readonly ca: Pick<ClusterPki['ca'], 'certPem'> & Partial<ClusterPki['ca']>;
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
  /** Controllers (all unless named); resolves when they have ended after the abort. */
  runControllers(signal: AbortSignal, names?: readonly string[]): Promise<void>;
  /** Resolves once the scheduler runs. */
  startScheduler(signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}

const ADMIN: Principal = { name: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] };

/** The issuer and checker of service-account tokens. */
function createTokens(deps: ControlPlaneDeps, objects: () => ObjectStore): ServiceAccountTokens {
  const { platform, pki, instance } = deps;
  const issuer = `https://kubernetes.default.svc.${instance.clusterDomain}`;
  const { privateKeyPem, publicKeyPem } = pki.serviceAccount;
  const own = createServiceAccountTokens(
    { platform, objects },
    { issuer, audiences: [issuer], keys: [{ privateKeyPem, publicKeyPem }] },
  );
  return deps.wrapTokens?.(own) ?? own;
}

interface ServerParts {
  readonly storage: ServerStorage;
  readonly tokens: ServiceAccountTokens;
  readonly rbac: RbacAuthorizer;
  readonly authorizers: readonly Authorizer[];
  readonly registry: Registry;
}

function assembleServer(deps: ControlPlaneDeps, parts: ServerParts): ApiServer {
  const { platform, instance } = deps;
  const { storage, tokens, rbac, authorizers, registry } = parts;
  const { clock, crypto } = platform;
  const bootstrapTokens = createBootstrapTokenAuthenticator({ objects: () => storage.objects, clock, crypto });
  return createApiServer(
    {
      storage,
      platform,
      definitions: registry.definitions,
      authenticators: [
        clientCertificateAuthenticator,
        createBearerTokenAuthenticator([tokens, bootstrapTokens], clock),
        anonymousAuthenticator,
      ],
      authorizers,
      admission: createAdmissionPlugins({
        objects: () => storage.objects,
        random: platform.random.fork('admission'),
        authorizer: { authorize: (asked) => decide(authorizers, asked) },
        rulesFor: rbac.rulesFor,
        clock,
      }),
      routes: registry.routes,
    },
    {
      version: versionInfo(),
      serverAddress: `${deps.hostAddress}:${instance.httpsPort}`,
      runtimeConfig: deps.runtimeConfig,
    },
  );
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
  const authorizers = [privilegedGroupAuthorizer, nodes, rbac];
  const registry = createRegistry({
    platform,
    objects: storage.objects,
    tokens,
    rbac,
    authorizers,
    instance,
    kubeletClient: pki.kubeletClient,
    caPem: pki.ca.certPem,
  });
  const server = assembleServer(deps, { storage, tokens, rbac, authorizers, registry });
  const clientFor = (principal: Principal, userAgent: string): Client =>
    createInProcessClient({ handler: server.handler, principal, clock, userAgent });
  const listening: HttpServer[] = [];
  let stopRegistry = (): void => undefined;
  let stopKeeping = (): void => undefined;
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
        advertised: [{ ip: deps.hostAddress, port: instance.httpsPort }],
      };
      await bootstrapCluster(storage.objects, born);
      await bootstrapNodeJoin(storage.objects, {
        clusterInfoKubeconfig: clusterInfoYaml({ server: serverUrl(deps), caPem: pki.ca.certPem }),
        clusterConfig: {
          clusterCidr: instance.clusterCidr,
          serviceCidr: instance.serviceCidr,
          clusterDomain: instance.clusterDomain,
          cni: instance.cni ?? 'keelson',
          dns: instance.dns ?? 'keelson',
        },
      });
      stopKeeping = keepKubernetesService(storage.objects, born, (err) =>
        platform.log.error('cannot restore the kubernetes Service', { err }),
      );
    },
    async serve(options, listen = platform.listenHttp) {
      const opened = await listen(
        options,
        createHttpHandler(server.handler, platform.random.fork('audit-ids'), platform),
      );
      listening.push(opened);
      return opened;
    },
    runControllers: (signal, names) => {
      const { certPem, keyPem } = pki.ca;
      const signing = keyPem === undefined ? {} : { clusterSigning: { certPem, keyPem } };
      return runBuiltInControllers(
        { platform, clientFor },
        { instance, rootCaPem: certPem, ...signing, ...(names && { names }) },
        signal,
      );
    },
    startScheduler: (signal) => startBuiltInScheduler({ platform, clientFor }, signal),
    async stop() {
      await Promise.all(listening.splice(0).map((opened) => opened.close(500)));
      stopKeeping();
      stopRegistry();
      rbac.stop();
      nodes.stop();
      await server.stop();
    },
  };
}

/** Where other machines reach the API. */
function serverUrl({ hostAddress, instance }: ControlPlaneDeps): string {
  const host = hostAddress.includes(':') ? `[${hostAddress}]` : hostAddress;
  return `https://${host}:${instance.httpsPort}`;
}

function versionInfo(): Parameters<typeof createApiServer>[1]['version'] {
  const [major = '1', minor = '36'] = KUBERNETES_VERSION.slice(1).split('.');
  return {
    major,
    minor,
    gitVersion: `${KUBERNETES_VERSION}+keelson${VERSION}`,
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: 'none',
    compiler: `node ${process.versions.node}`,
    platform: `linux/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  };
}
