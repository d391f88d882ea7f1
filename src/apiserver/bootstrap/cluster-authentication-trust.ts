/**
 * `kube-system/extension-apiserver-authentication`: the authorities that aggregated API servers read to authenticate this server
 * and its clients. Upstream: the clusterauthenticationtrust controller.
 * Invariant: entries of other servers are kept beside our own, so that servers whose files are renewed one after the other do not
 * revert each other. Only expired authorities are removed, and no server adds an expired one from its own file. Differs: invalid
 * certificates are removed too, where upstream fails; and expired ones are removed minutes after their end, because the clocks of
 * servers differ.
 */
import { ConfigMaps } from '../../api/gen/resources.ts';
import type { ConfigMap } from '../../api/gen/core-v1.ts';
import { readCertificate } from '../../component-helpers/pki/read-certificate.ts';
import { certificateBlocks } from '../../platform/certificate-blocks.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Platform } from '../../platform/platform.ts';
import type { RequestHeaderOptions } from '../options/authentication-options.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import { background } from '../../platform/unexpected.ts';
import { smallest } from '../../base/lists.ts';

const NAMESPACE = 'kube-system';
const NAME = 'extension-apiserver-authentication';
const CHECK_PERIOD_MS = 60_000;
/** The most that clocks of two servers may differ: what one still adds, the other must not remove yet. */
const CLOCKS_APART_MS = 5 * 60_000;

export interface ClientAuthorities {
  /** '': no client certificates. */
  readonly clientCaPem: string;
  /** Front proxies: this server among them, if it has a certificate for that. */
  readonly proxies?: Omit<RequestHeaderOptions, 'clientCaFile'> & { readonly caPem: string };
}

/** Keeps this server's authorities in the ConfigMap. */
export interface ClientAuthoritiesKeeper {
  /** Writes the ConfigMap if it lacks anything. */
  publish(): Promise<void>;
  /** Replaces the authorities of this server, whose files may have been renewed. */
  use(next: ClientAuthorities): void;
  /** Checks the ConfigMap at each of its changes and once a minute, until `stop`. */
  start(): void;
  stop(): void;
}

type Data = Readonly<Record<string, string>>;
/** Whether this certificate expired at least this long ago. */
type IsExpired = (block: string, forMs: number) => boolean;

/** Makes the keeper; nothing is written before `publish`. */
export function createClientAuthoritiesKeeper(
  {
    objects,
    clock,
    crypto,
    log,
  }: Pick<Platform, 'crypto' | 'log'> & {
    readonly clock: Pick<Clock, 'nowMs' | 'setTicker'>;
    readonly objects: ObjectStore;
  },
  initial: ClientAuthorities,
): ClientAuthoritiesKeeper {
  let own = dataOf(initial);
  let running = false;
  let again = false;
  const stops: (() => void)[] = [];

  /** The data with which nothing needs to be written, until the first certificate expires. */
  let settled: { readonly ours: Data; readonly data: Data; readonly untilMs: number } | undefined;

  /** Adds the time at which each certificate expires; 0 for an invalid one. */
  function readExpiries(data: Data, expiries: Map<string, number>): void {
    for (const block of AUTHORITIES.flatMap((key) => blocksOf(data[key])))
      if (!expiries.has(block)) expiries.set(block, expiryOf({ crypto }, block));
  }
  function isSettled(): boolean {
    if (settled?.ours !== own || clock.nowMs() >= settled.untilMs) return false;
    return objects.get(ConfigMaps, NAMESPACE, NAME)?.data === settled.data;
  }
  async function publish(): Promise<void> {
    if (isSettled()) return;
    const ours = own;
    const expiries = new Map<string, number>();
    readExpiries(ours, expiries);
    const isExpired: IsExpired = (block, forMs) => (expiries.get(block) ?? Infinity) + forMs <= clock.nowMs();
    const metadata = { namespace: NAMESPACE, name: NAME };
    const wanted: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: mergeTrust({}, ours, isExpired) };
    const { data = {} } = await objects.ensure(ConfigMaps, wanted);
    readExpiries(data, expiries);
    if (mergeTrust(data, ours, isExpired) === data) {
      settled = { ours, data, untilMs: smallest(expiries.values()) };
      return;
    }
    await objects.guaranteedUpdate(ConfigMaps, NAMESPACE, NAME, (now) => {
      const stored = now.data ?? {};
      const next = mergeTrust(stored, ours, isExpired);
      return next === stored ? undefined : { ...now, data: next };
    });
  }
  async function check(): Promise<void> {
    again = true;
    if (running) return;
    running = true;
    while (again) {
      again = false;
      await publish().catch((err: unknown) => log.error('cannot publish the authorities of clients', { err }));
    }
    running = false;
  }
  return {
    publish,
    use(next) {
      own = dataOf(next);
      background(log, 'the authorities of clients could not be checked', check()); // Never rejects.
    },
    start() {
      stops.push(
        objects.onChange(ConfigMaps, (now, old) => {
          const { name, namespace } = (now ?? old)?.metadata ?? {};
          if (name === NAME && namespace === NAMESPACE && now !== old)
            background(log, 'the authorities of clients could not be checked', check());
        }),
        clock.setTicker(CHECK_PERIOD_MS, () =>
          background(log, 'the authorities of clients could not be checked', check()),
        ),
      );
    },
    stop() {
      for (const stop of stops.splice(0)) stop();
    },
  };
}

const AUTHORITIES: readonly string[] = ['client-ca-file', 'requestheader-client-ca-file'];

/** The time at which the certificate expires; 0 for an invalid one. */
function expiryOf(deps: Pick<Platform, 'crypto'>, block: string): number {
  try {
    return readCertificate(deps, block).notAfterMs;
  } catch {
    return 0;
  }
}

function dataOf({ clientCaPem, proxies }: ClientAuthorities): Data {
  return {
    ...(clientCaPem !== '' && { 'client-ca-file': clientCaPem }),
    ...(proxies && {
      'requestheader-allowed-names': JSON.stringify(proxies.allowedNames),
      'requestheader-client-ca-file': proxies.caPem,
      'requestheader-extra-headers-prefix': JSON.stringify(proxies.extraPrefixes),
      'requestheader-group-headers': JSON.stringify(proxies.groupHeaders),
      'requestheader-uid-headers': JSON.stringify(proxies.uidHeaders),
      'requestheader-username-headers': JSON.stringify(proxies.usernameHeaders),
    }),
  };
}

/** The stored data with our additions; the same object when nothing is added. The order stays: two servers must not take turns. */
function mergeTrust(stored: Data, own: Data, isExpired: IsExpired): Data {
  const next: Record<string, string> = { ...stored };
  let changed = false;
  for (const key of new Set([...Object.keys(own), ...AUTHORITIES])) {
    const read = AUTHORITIES.includes(key) ? blocksOf : listOf;
    const before = stored[key];
    const remaining = read(before).filter((one) => !isExpired(one, CLOCKS_APART_MS));
    const added = read(own[key]).filter((one) => !isExpired(one, 0));
    const all = [...new Set([...remaining, ...added])];
    const text = read === blocksOf ? all.join('') : JSON.stringify(all);
    if (before === undefined ? text === '' : sameList(read(before), all)) continue;
    changed = true;
    next[key] = text;
  }
  return changed ? next : stored;
}

const sameList = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((one, at) => one === b[at]);

function blocksOf(pem: string | undefined): readonly string[] {
  try {
    return certificateBlocks(pem ?? '');
  } catch {
    return [];
  }
}

function listOf(json: string | undefined): readonly string[] {
  try {
    const value: unknown = JSON.parse(json ?? '[]');
    return Array.isArray(value) ? value.map(String) : [];
  } catch {
    return [];
  }
}
