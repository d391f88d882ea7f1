/**
 * The control plane in one process: store, API server, controllers, scheduler. Components talk to the server in-process,
 * each under its own identity, through the same filters as everybody else.
 */
import { VERSION, KUBERNETES_VERSION } from '../base/version.ts';
import { createAdmissionPlugins } from '../apiserver/admission/list.ts';
import { createApiServer, type ApiServer } from '../apiserver/api-server.ts';
import { anonymousAuthenticator } from '../apiserver/authn/anonymous.ts';
import { createBearerTokenAuthenticator } from '../apiserver/authn/bearer-token.ts';
import { clientCertificateAuthenticator } from '../apiserver/authn/client-certificate.ts';
import { accountPrincipal, createServiceAccountTokens, type ServiceAccountTokens } from '../apiserver/authn/service-account-tokens.ts';
import { createNodeAuthorizer } from '../apiserver/authz/node-authorizer.ts';
import { createRbacAuthorizer, privilegedGroupAuthorizer } from '../apiserver/authz/rbac-authorizer.ts';
import { bootstrapCluster } from '../apiserver/bootstrap/bootstrap.ts';
import { componentRoles } from '../apiserver/bootstrap/component-roles.ts';
import { createHttpHandler } from '../apiserver/http-adapter.ts';
import { createServerStorage } from '../apiserver/server-storage.ts';
import type { Principal } from '../api/transport.ts';
import type { Client } from '../client/client.ts';
import { createEventBroadcaster, type EventBroadcaster } from '../client/event-broadcaster.ts';
import { createInProcessClient } from '../client/in-process-transport.ts';
import { createInformerFactory } from '../client/informer-factory.ts';
import type { InformerFactory } from '../client/informer.ts';
import type { ClusterPki } from '../component-helpers/pki/cluster-pki.ts';
import { runControllers } from '../controllers/list.ts';
import type { HttpServer } from '../platform/http.ts';
import type { Platform } from '../platform/platform.ts';
import { createScheduler } from '../scheduler/scheduler.ts';
import type { Store } from '../storage/store.ts';
import type { Instance } from './instance.ts';
import { kubernetesServiceAddress } from './network/pod-network.ts';
import { createRegistry } from './registry-services.ts';

/** What the control plane is made from. */
export interface ControlPlaneDeps {
  readonly platform: Platform;
  readonly store: Store;
  readonly pki: ClusterPki;
  readonly instance: Instance;
  /** Address of this machine that pods can reach. */
  readonly hostAddress: string;
  readonly runtimeConfig: string;
}

/** The running control plane. */
export interface ControlPlane {
  readonly server: ApiServer;
  /** A client that acts as this user. */
  clientFor(principal: Principal, userAgent: string): Client;
  /** The administrator's client. */
  readonly admin: Client;
  readonly tokens: ServiceAccountTokens;
  /** Store read, bootstrap objects written, HTTPS open. */
  start(signal: AbortSignal): Promise<void>;
  /** Controllers and scheduler; resolves when they have ended after the abort. */
  runControllers(signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}

const ADMIN: Principal = { name: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] };
const SCHEDULER: Principal = { name: 'system:kube-scheduler', groups: ['system:authenticated'] };
const CONTROLLER_MANAGER: Principal = { name: 'system:kube-controller-manager', groups: ['system:authenticated'] };

/** Puts the control plane together; nothing runs before `start`. */
export function createControlPlane(deps: ControlPlaneDeps): ControlPlane {
  const { platform, store, pki, instance } = deps;
  const { clock } = platform;
  const storage = createServerStorage({ store, platform });
  const objects = () => storage.objects;
  const issuer = `https://kubernetes.default.svc.${instance.clusterDomain}`;
  const tokens = createServiceAccountTokens(
    { platform, objects },
    { issuer, audiences: [issuer], keys: [{ privateKeyPem: pki.serviceAccount.privateKeyPem, publicKeyPem: pki.serviceAccount.publicKeyPem }] },
  );
  const rbac = createRbacAuthorizer(storage.objects);
  const nodes = createNodeAuthorizer(storage.objects, componentRoles['system:node']?.rules ?? []);
  const authorizers = [privilegedGroupAuthorizer, nodes, rbac];
  const registry = createRegistry({ platform, objects: storage.objects, tokens, rbac, authorizers, instance, kubeletClient: pki.kubeletClient, caPem: pki.ca.certPem });
  const server = createApiServer(
    {
      storage, platform, definitions: registry.definitions,
      authenticators: [clientCertificateAuthenticator, createBearerTokenAuthenticator([tokens], clock), anonymousAuthenticator],
      authorizers,
      admission: createAdmissionPlugins({ objects, random: platform.random.fork('admission'), clock }),
      routes: registry.routes,
    },
    { version: versionInfo(), serverAddress: `${deps.hostAddress}:${instance.httpsPort}`, runtimeConfig: deps.runtimeConfig },
  );
  const clientFor = (principal: Principal, userAgent: string): Client => createInProcessClient({ handler: server.handler, principal, clock, userAgent });
  let https: HttpServer | undefined;
  let stopRegistry = (): void => undefined;
  return {
    server, clientFor, tokens,
    admin: clientFor(ADMIN, 'keelson'),
    async start(signal) {
      await server.start(signal);
      stopRegistry = registry.start();
      await bootstrapCluster(storage.objects, {
        kubernetesServiceIp: kubernetesServiceAddress(instance.serviceCidr),
        advertised: [{ ip: deps.hostAddress, port: instance.httpsPort }],
      });
      https = await platform.listenHttp(
        { host: '0.0.0.0', port: instance.httpsPort, tls: { ...pki.apiServer, clientCaPem: pki.ca.certPem } },
        createHttpHandler(server.handler, platform.random.fork('audit-ids')),
      );
    },
    runControllers: (signal) => runBuiltIns({ platform, instance, pki, clientFor }, signal),
    async stop() {
      await https?.close(500);
      stopRegistry();
      rbac.stop();
      nodes.stop();
      await server.stop();
    },
  };
}

interface BuiltInDeps {
  readonly platform: Platform;
  readonly instance: Instance;
  readonly pki: ClusterPki;
  readonly clientFor: ControlPlane['clientFor'];
}

async function runBuiltIns({ platform, instance, pki, clientFor }: BuiltInDeps, signal: AbortSignal): Promise<void> {
  const factory = (client: Client): InformerFactory => createInformerFactory({ client, clock: platform.clock, random: platform.random, log: platform.log });
  const events = (client: Client): EventBroadcaster => createEventBroadcaster({ client, clock: platform.clock, random: platform.random, log: platform.log });
  const manager = clientFor(CONTROLLER_MANAGER, 'kube-controller-manager');
  const managerEvents = events(manager);
  managerEvents.start(signal);
  const schedulerClient = clientFor(SCHEDULER, 'kube-scheduler');
  const schedulerEvents = events(schedulerClient);
  schedulerEvents.start(signal);
  const scheduler = createScheduler(
    { client: schedulerClient, informers: factory(schedulerClient), recorder: schedulerEvents.recorderFor('default-scheduler'), platform },
    { schedulerName: 'default-scheduler' },
  );
  const controllers = runControllers(
    {
      platform, informers: factory(manager),
      clientFor: (account) => clientFor(accountPrincipal('kube-system', account), `kube-controller-manager/${account}`),
      recorderFor: (component) => managerEvents.recorderFor(component),
      config: { clusterCidrs: [instance.clusterCidr], serviceCidrs: [instance.serviceCidr], rootCaPem: pki.ca.certPem, clusterSigning: pki.ca },
    },
    signal,
  );
  await scheduler.start(signal);
  await controllers;
}

function versionInfo(): Parameters<typeof createApiServer>[1]['version'] {
  const [major = '1', minor = '36'] = KUBERNETES_VERSION.slice(1).split('.');
  return {
    major, minor, gitVersion: `${KUBERNETES_VERSION}+keelson${VERSION}`, gitCommit: '', gitTreeState: 'clean', buildDate: '1970-01-01T00:00:00Z',
    goVersion: 'none', compiler: `node ${process.versions.node}`, platform: `linux/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  };
}
