/**
 * Composes cluster DNS: the zone fed by the API, the forwarder behind it, the server in front. It runs as a small
 * process of its own, so that names resolve while Keelson restarts.
 */
import type { Client } from '../client/client.ts';
import { createInformerFactory } from '../client/informer-factory.ts';
import type { SocketAddress } from '../platform/datagrams.ts';
import type { Platform } from '../platform/platform.ts';
import { createDnsServer } from './dns-server.ts';
import { followServices } from './follow-services.ts';
import { createForwarder, type StubDomain } from './forwarder.ts';
import { createUpstreams } from './resolv-conf.ts';
import { createResolver } from './resolver.ts';
import { createZone } from './zone.ts';

export interface DnsDeps {
  readonly client: Client;
  readonly platform: Pick<Platform, 'clock' | 'random' | 'log' | 'metrics' | 'files' | 'net' | 'datagrams'>;
}

export interface DnsConfig {
  /** Addresses to listen on, each with UDP and TCP. */
  readonly listen: readonly SocketAddress[];
  /** The cluster domain, e.g. `cluster.local`. */
  readonly domain: string;
  /** The path of the host's resolv.conf, whose servers resolve other names. */
  readonly resolvConfPath: string;
  readonly stubDomains?: readonly StubDomain[];
}

/** Cluster DNS. */
export interface Dns {
  /** Listens, and starts to follow the API. Rejects with Node's code when it cannot listen. */
  start(): Promise<void>;
  /** Resolves when the zone is complete; until then cluster names get SERVFAIL. Rejects when aborted. */
  ready(signal?: AbortSignal): Promise<void>;
  isReady(): boolean;
  /** Where it listens. */
  addresses(): readonly SocketAddress[];
  stop(): Promise<void>;
}

const ANY_ADDRESS = new Set(['0.0.0.0', '::']);

/** Makes cluster DNS; nothing is opened before `start`. */
export function createDns({ client, platform }: DnsDeps, config: DnsConfig): Dns {
  const log = platform.log.child('dns');
  const random = platform.random.fork('dns');
  const informers = createInformerFactory({ ...platform, client, random });
  const domain = config.domain.toLowerCase().replace(/\.$/, '');
  const zone = createZone(
    domain,
    config.listen.map((at) => at.address).filter((address) => !ANY_ADDRESS.has(address)),
  );
  const follower = followServices(informers, zone, { clock: platform.clock, log });
  const upstreams = createUpstreams(
    { ...platform, log },
    { resolvConfPath: config.resolvConfPath, isOwn: (address) => isOwn(address, config, platform) },
  );
  const forwarder = createForwarder({ ...platform, log, random, upstreams }, config.stubDomains);
  const resolve = createResolver({ zone, forwarder, isReady: follower.isReady });
  const server = createDnsServer(
    { platform: { ...platform, log, random }, resolve, zoneVersion: () => zone.version },
    config,
  );
  const stopping = new AbortController();
  return {
    async start() {
      await server.start();
      informers.start(stopping.signal);
    },
    ready: follower.ready,
    isReady: follower.isReady,
    addresses: server.addresses,
    async stop() {
      stopping.abort();
      await server.stop();
    },
  };
}

function isOwn(address: string, config: DnsConfig, platform: DnsDeps['platform']): boolean {
  if (config.listen.some((at) => at.address === address)) return true;
  const everywhere = config.listen.some((at) => at.port === 53 && ANY_ADDRESS.has(at.address));
  return everywhere && platform.net.interfaces().some((i) => i.address === address);
}
