/**
 * `kube-system/extension-apiserver-authentication`: what aggregated API servers read to know whom this server vouches for.
 * Upstream: the clusterauthenticationtrust controller.
 *
 * Invariant: what other servers wrote stays beside our own, so that servers whose files are renewed one after the other do
 * not undo each other; only authorities whose time is over go. Differs: our own stay even then, for whoever gave us the
 * file; and what is no certificate is dropped, where upstream gives up.
 */
import { ConfigMaps } from '../../api/gen/resources.ts';
import type { ConfigMap } from '../../api/gen/core-v1.ts';
import { readCertificate } from '../../component-helpers/pki/certificates.ts';
import { certificateBlocks } from '../../platform/certificate-blocks.ts';
import type { Platform } from '../../platform/platform.ts';
import type { RequestHeaderOptions } from '../options/authentication-options.ts';
import type { ObjectStore } from '../registry/object-store.ts';

const NAMESPACE = 'kube-system';
const NAME = 'extension-apiserver-authentication';
const CHECK_PERIOD_MS = 60_000;

/** Who vouches for users. */
export interface ClientAuthorities {
  /** '': no client certificates. */
  readonly clientCaPem: string;
  /** Front proxies: this server among them, if it has a certificate for that. */
  readonly proxies?: Omit<RequestHeaderOptions, 'clientCaFile'> & { readonly caPem: string };
}

/** Keeps the map as it should be. */
export interface ClientAuthoritiesKeeper {
  /** Writes the map. */
  publish(): Promise<void>;
  /** From now on these vouch. */
  use(next: ClientAuthorities): void;
  /** Looks whenever the map changes and once a minute; ended by `stop`. */
  start(): void;
  stop(): void;
}

type Data = Readonly<Record<string, string>>;

/** Makes the keeper; nothing is written before `publish`. */
export function createClientAuthoritiesKeeper(
  { objects, clock, crypto, log }: Pick<Platform, 'clock' | 'crypto' | 'log'> & { readonly objects: ObjectStore },
  initial: ClientAuthorities,
): ClientAuthoritiesKeeper {
  let own = dataOf(initial);
  let running = false;
  let again = false;
  const stops: (() => void)[] = [];

  async function expiredOf(data: Data): Promise<ReadonlySet<string>> {
    const expired = new Set<string>();
    for (const key of AUTHORITIES) {
      const mine = blocksOf(own[key]);
      for (const block of blocksOf(data[key]).filter((each) => !mine.includes(each))) {
        const notAfterMs = await readCertificate({ crypto }, block).then(
          (read) => read.notAfterMs,
          () => 0,
        );
        if (notAfterMs <= clock.nowMs()) expired.add(block);
      }
    }
    return expired;
  }
  async function publish(): Promise<void> {
    const metadata = { namespace: NAMESPACE, name: NAME };
    const wanted: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { ...own } };
    const { data = {} } = await objects.ensure(ConfigMaps, wanted);
    const expired = await expiredOf(data);
    if (combined(data, own, expired) === data) return;
    await objects.guaranteedUpdate(ConfigMaps, NAMESPACE, NAME, (now) => {
      const there = now.data ?? {};
      const next = combined(there, own, expired);
      return next === there ? undefined : { ...now, data: next };
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
      void check(); // Never rejects.
    },
    start() {
      stops.push(
        objects.onChange(ConfigMaps, (now, old) => {
          const { name, namespace } = (now ?? old)?.metadata ?? {};
          if (name === NAME && namespace === NAMESPACE && now !== old) void check();
        }),
        clock.setTicker(CHECK_PERIOD_MS, () => void check()),
      );
    },
    stop() {
      for (const stop of stops.splice(0)) stop();
    },
  };
}

const AUTHORITIES = ['client-ca-file', 'requestheader-client-ca-file'] as const;

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

/** What is there with what we add; the same object when that is nothing. Order stays: two servers must not take turns. */
function combined(there: Data, own: Data, expired: ReadonlySet<string>): Data {
  const next: Record<string, string> = { ...there };
  let changed = false;
  for (const key of new Set([...Object.keys(own), ...AUTHORITIES])) {
    const read = AUTHORITIES.includes(key as never) ? blocksOf : listOf;
    const before = there[key];
    const all = [...new Set([...read(before).filter((one) => !expired.has(one)), ...read(own[key])])];
    const isSame = before !== undefined && sameList(read(before), all);
    if (isSame || (before === undefined && own[key] === undefined)) continue;
    changed = true;
    if (before === undefined) next[key] = own[key]!;
    else next[key] = read === blocksOf ? all.join('') : JSON.stringify(all);
  }
  return changed ? next : there;
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
