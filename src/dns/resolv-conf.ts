/**
 * The host's name servers, from resolv.conf, which is read again when it changes. Upstream: CoreDNS's `forward .
 * /etc/resolv.conf`.
 */
import type { Clock } from '../platform/clock.ts';
import type { SocketAddress } from '../platform/datagrams.ts';
import type { Files } from '../platform/files.ts';
import type { Log } from '../platform/log.ts';
import { canonicalIp } from './reverse-names.ts';

const DNS_PORT = 53;
/** Age after which the file is read again by the next query. */
const RECHECK_MS = 5_000;

/** The addresses of the `nameserver` lines, in order. Scoped IPv6 addresses are left out. Pure. */
export function nameserversOf(text: string): string[] {
  const found = text.split('\n').flatMap((line) => {
    const [keyword, value] = line.trim().split(/\s+/);
    const address = keyword === 'nameserver' && value !== undefined ? canonicalIp(value) : undefined;
    return address === undefined ? [] : [address];
  });
  return [...new Set(found)];
}

export interface Upstreams {
  current(): Promise<readonly SocketAddress[]>;
}

export interface UpstreamsConfig {
  readonly resolvConfPath: string;
  /** Whether the address is this server's own. */
  isOwn(address: string): boolean;
}

/** A file that is missing or empty means no servers. */
export function createUpstreams(
  deps: { readonly files: Files; readonly clock: Clock; readonly log: Log },
  config: UpstreamsConfig,
): Upstreams {
  const { files, clock, log } = deps;
  let checkedMs = -Infinity;
  let current: Promise<readonly SocketAddress[]> = Promise.resolve([]);
  let reported = '';
  async function read(): Promise<readonly SocketAddress[]> {
    const text = await files.readText(config.resolvConfPath).catch((error: unknown) => {
      log.warn('resolv.conf cannot be read: names outside the cluster will not resolve', {
        path: config.resolvConfPath,
        err: error,
      });
      return '';
    });
    const addresses = nameserversOf(text).filter((address) => !config.isOwn(address));
    if (addresses.join(' ') !== reported) log.info('forwarding names outside the cluster', { nameservers: addresses });
    reported = addresses.join(' ');
    return addresses.map((address) => ({ address, port: DNS_PORT }));
  }
  return {
    current() {
      if (clock.monotonicMs() - checkedMs >= RECHECK_MS) {
        checkedMs = clock.monotonicMs();
        current = read();
      }
      return current;
    },
  };
}
