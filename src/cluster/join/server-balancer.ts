/**
 * A TCP balancer over the servers: connections to a port on loopback go to the first server that accepts them,
 * beginning with the last successful one. TLS passes through, so each end sees the other's certificate. An agent's
 * kubelet, proxy and DNS use it when there are several servers. Not in upstream; modelled on k3s's agent.
 */
import { joinStreams } from '../../component-helpers/streaming/join-streams.ts';
import type { Datagrams } from '../../platform/datagrams.ts';
import type { Log } from '../../platform/log.ts';
import type { Net } from '../../platform/net.ts';
import type { Duplex } from '../../platform/streams.ts';
import { background } from '../../platform/unexpected.ts';

export interface ServerBalancerDeps {
  readonly net: Net;
  readonly datagrams: Datagrams;
  readonly log: Log;
}

export interface ServerBalancer {
  readonly url: string;
  close(): Promise<void>;
}

const DIAL_TIMEOUT_MS = 3_000;

/** Opens the port. Rejects with Node's code when it is taken. */
export async function openServerBalancer(
  { net, datagrams, log }: ServerBalancerDeps,
  { servers, port }: { readonly servers: readonly string[]; readonly port: number },
): Promise<ServerBalancer> {
  const targets = servers.map((server) => new URL(server));
  let preferred = 0;
  const dial = async (): Promise<Duplex | undefined> => {
    for (let i = 0; i < targets.length; i++) {
      const index = (preferred + i) % targets.length;
      const { hostname, port: number } = targets[index] as URL;
      const host = hostname.replace(/^\[(.*)\]$/, '$1');
      const backend = await net
        .dial({ host, port: Number(number === '' ? 443 : number), timeoutMs: DIAL_TIMEOUT_MS })
        .catch(() => undefined);
      if (backend === undefined) continue;
      if (index !== preferred)
        log.info('another server answers', { server: servers[index], before: servers[preferred] });
      preferred = index;
      return backend;
    }
    return undefined;
  };
  const listener = await datagrams.listenStreams({ address: '127.0.0.1', port }, (client) => {
    background(
      log,
      'a connection could not be passed on',
      dial().then((backend) => (backend === undefined ? client.destroy() : joinStreams(client, backend))),
    );
  });
  return { url: `https://127.0.0.1:${listener.local.port}`, close: () => listener.close() };
}
