/**
 * What a node runs beside its kubelet: the kubelet's HTTPS server and the service proxy in this process, DNS in a small
 * one of its own. Rules and DNS stay when Keelson stops, so services go on answering; `removeNodeServices` ends them.
 */
import { createInformerFactory } from '../client/informer-factory.ts';
import type { CriClient } from '../cri/cri-client.ts';
import type { HttpServer } from '../platform/http.ts';
import type { Platform } from '../platform/platform.ts';
import { createServiceProxy, type ServiceProxy } from '../proxy/service-proxy.ts';
import type { ComponentStatus } from './cluster-status.ts';
import { createDnsDaemon, type DnsDaemon } from './dns-daemon.ts';
import type { Instance } from './instance.ts';
import { openKubeletServer } from './kubelet-server.ts';
import type { NodeConnection } from './node-connection.ts';
import type { ClusterNode } from './node.ts';

/** What they are made from. */
export interface NodeServicesDeps {
  readonly platform: Platform;
  readonly connection: NodeConnection;
  readonly instance: Instance;
  readonly kubeletPort: number;
}

/** The running services. */
export interface NodeServices {
  /** Opens the kubelet's server, once it has a certificate. */
  serveKubelet(node: ClusterNode, cri: CriClient): Promise<void>;
  status(): readonly ComponentStatus[];
  /** Ends this process's part. */
  stop(): Promise<void>;
}

/** Starts the proxy and, once it has its address, DNS. */
export function startNodeServices(deps: NodeServicesDeps, signal: AbortSignal): NodeServices {
  const { platform, instance } = deps;
  const proxy = serviceProxy(deps, signal);
  const running = proxy.start(signal);
  const dns: DnsDaemon = createDnsDaemon(platform, instance, deps.connection);
  const dnsRunning = dns.start(signal);
  let server: HttpServer | undefined;
  return {
    async serveKubelet(node, cri) {
      const { connection, kubeletPort: port } = deps;
      const pair = await connection.servingCertificate(signal);
      const tls = { ...pair, clientCaPem: connection.caPem };
      const opened = await openKubeletServer(
        { platform, client: connection.kubelet, config: node.config, tls, port },
        node,
        cri,
      );
      server = opened;
      connection.onServingCertificate(({ certPem, keyPem }) => opened.setCertificate(certPem, keyPem));
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

function proxyConfig(instance: Instance): Parameters<typeof createServiceProxy>[1] {
  const { nodeName, nftTable, clusterCidr, serviceCidr, masqueradeMark } = instance;
  return { nodeName, nftTable, clusterCidr, serviceCidr, masqueradeMark, mode: 'nftables' };
}

function serviceProxy({ platform, instance, connection }: NodeServicesDeps, signal: AbortSignal): ServiceProxy {
  const informers = createInformerFactory({
    client: connection.proxy,
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
