/**
 * What a node runs beside its kubelet: the kubelet's HTTPS server and the service proxy in this process, DNS in a small
 * one of its own. Rules and DNS stay when Keelson stops, so services go on answering; `removeNodeServices` ends them.
 */
import type { Principal } from '../api/transport.ts';
import { accountPrincipal } from '../apiserver/authn/service-account-tokens.ts';
import { createEventBroadcaster } from '../client/event-broadcaster.ts';
import { createInformerFactory } from '../client/informer-factory.ts';
import type { ClusterPki } from '../component-helpers/pki/cluster-pki.ts';
import type { HttpServer } from '../platform/http.ts';
import type { Platform } from '../platform/platform.ts';
import { createLoadBalancerController } from '../proxy/load-balancer.ts';
import { createServiceProxy, type ServiceProxy } from '../proxy/service-proxy.ts';
import type { ComponentStatus } from './cluster-status.ts';
import type { ControlPlane } from './control-plane.ts';
import { createDnsDaemon, type DnsDaemon } from './dns-daemon.ts';
import type { Instance } from './instance.ts';
import { openKubeletServer } from './kubelet-server.ts';
import { nodePrincipal, type ClusterNode } from './node.ts';

/** What they are made from. */
export interface NodeServicesDeps {
  readonly platform: Platform;
  readonly controlPlane: ControlPlane;
  readonly pki: ClusterPki;
  readonly instance: Instance;
  readonly kubeletPort: number;
}

/** The running services. */
export interface NodeServices {
  /** Opens the kubelet's server. */
  serveKubelet(node: ClusterNode): Promise<void>;
  status(): readonly ComponentStatus[];
  /** Ends this process's part. */
  stop(): Promise<void>;
}

const PROXY: Principal = { name: 'system:kube-proxy', groups: ['system:authenticated'] };

/** Starts the proxy and, once it has its address, DNS. */
export function startNodeServices(deps: NodeServicesDeps, signal: AbortSignal): NodeServices {
  const { platform, instance } = deps;
  const proxy = serviceProxy(deps, signal);
  const running = Promise.all([proxy.start(signal), startLoadBalancers(deps, signal)]);
  const dns: DnsDaemon = createDnsDaemon(platform, instance, deps.pki);
  const dnsRunning = dns.start(signal);
  let server: HttpServer | undefined;
  return {
    async serveKubelet(node) {
      const client = deps.controlPlane.clientFor(nodePrincipal(instance.nodeName), 'kubelet');
      server = await openKubeletServer(
        {
          platform,
          client,
          config: node.config,
          tls: { ...deps.pki.kubeletServer, clientCaPem: deps.pki.ca.certPem },
          port: deps.kubeletPort,
        },
        node,
      );
    },
    status: () => [
      { name: 'proxy', healthy: proxy.healthy(), message: proxy.healthy() ? '' : 'service rules are not in place' },
      { name: 'dns', healthy: dns.healthy(), message: dns.healthy() ? '' : 'the DNS process does not run' },
    ],
    async stop() {
      await server?.close(500);
      await Promise.all([running, dnsRunning]);
    },
  };
}

/** Gives services of type LoadBalancer the nodes' addresses. One per cluster: here, since this process has the proxy. */
function startLoadBalancers(
  { platform, controlPlane, instance, kubeletPort }: NodeServicesDeps,
  signal: AbortSignal,
): Promise<void> {
  const client = controlPlane.clientFor(accountPrincipal('kube-system', 'service-controller'), 'service-controller');
  const sources = { client, clock: platform.clock, random: platform.random, log: platform.log };
  const informers = createInformerFactory(sources);
  const events = createEventBroadcaster(sources);
  events.start(signal);
  const controller = createLoadBalancerController({
    client,
    informers,
    platform,
    recorder: events.recorderFor('service-controller'),
    reservedTcpPorts: [instance.httpsPort, kubeletPort],
  });
  informers.start(signal);
  return controller.start(signal);
}

function proxyConfig(instance: Instance): Parameters<typeof createServiceProxy>[1] {
  const { nodeName, nftTable, clusterCidr, serviceCidr, masqueradeMark } = instance;
  return { nodeName, nftTable, clusterCidr, serviceCidr, masqueradeMark, mode: 'nftables' };
}

function serviceProxy({ platform, instance, controlPlane }: NodeServicesDeps, signal: AbortSignal): ServiceProxy {
  const client = controlPlane.clientFor(PROXY, 'kube-proxy');
  const informers = createInformerFactory({
    client,
    clock: platform.clock,
    random: platform.random,
    log: platform.log,
  });
  const proxy = createServiceProxy({ informers, platform }, proxyConfig(instance));
  informers.start(signal);
  return proxy;
}

/** Ends the DNS process and removes the service rules. Nothing there is no error. */
export async function removeNodeServices(platform: Platform, instance: Instance): Promise<void> {
  await createDnsDaemon(platform, instance, undefined).remove();
  const informers = createInformerFactory({
    client: NO_CLIENT,
    clock: platform.clock,
    random: platform.random,
    log: platform.log,
  });
  await createServiceProxy({ informers, platform }, proxyConfig(instance)).remove();
}

/** Taking rules away reads nothing from the API. */
const NO_CLIENT = {
  resource: (info: object) => ({ info }),
} as never;
