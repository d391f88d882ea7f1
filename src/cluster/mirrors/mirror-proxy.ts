/**
 * Serves pulls of the node's containerd from mirrors whose repositories have other names: containerd's `hosts.toml` can put
 * a path before names, and rewrite them in no other way. Listens on loopback at a free port, which the `hosts.toml` files
 * have together with a key: whoever else is on the node, as a pod with `hostNetwork`, cannot pull with the mirrors'
 * credentials. With TLS, since such a pod reads all that loopback carries (NET_RAW), and since whoever gets the port in the
 * proxy's place must not hear the key. Upstream: k3s rewrites names in a fork of containerd.
 */
import { createAuthority, issueCertificate } from '../../component-helpers/pki/certificates.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Mirror } from './mirror.ts';
import { createMirrorHandler, KEY_HEADER, type MirrorHandlerDeps } from './mirror-handler.ts';

type Deps = MirrorHandlerDeps & Pick<Platform, 'listenHttp' | 'random'>;

const KEY_BYTES = 32;
const CERTIFICATE_MS = 3650 * 86_400_000;
const HOST = '127.0.0.1';
const CLOSE_GRACE_MS = 1_000;

export interface RunningMirrorProxy {
  /** The URL of the mirror with this number, before the names of repositories. */
  url(index: number): string;
  /** What every request must have. */
  readonly headers: Readonly<Record<string, string>>;
  /** The authority of its certificate, which is new at each start. */
  readonly caPem: string;
  readonly port: number;
  close(): Promise<void>;
}

/** Resolves once it listens. */
export async function startMirrorProxy(platform: Deps, mirrors: readonly Mirror[]): Promise<RunningMirrorProxy> {
  const key = Buffer.from(platform.random.fork('mirrors').bytes(KEY_BYTES)).toString('base64url');
  const handler = createMirrorHandler(platform, mirrors, key);
  const { caPem, ...pair } = await servingCertificate(platform);
  const server = await platform.listenHttp({ host: HOST, port: 0, tls: { ...pair, http2: false } }, handler);
  const { port } = server;
  return {
    url: (index) => `https://${HOST}:${port}/${index}/v2`,
    headers: { [KEY_HEADER]: key },
    caPem,
    port,
    close: () => server.close(CLOSE_GRACE_MS),
  };
}

/** Its authority signs nothing else, and its key is discarded. */
async function servingCertificate({ crypto, random, clock }: Deps) {
  const deps = { crypto, random, nowMs: () => clock.nowMs() };
  const authority = await createAuthority(deps, 'authority of keelson mirrors', CERTIFICATE_MS);
  const pair = await issueCertificate(deps, authority, {
    commonName: 'keelson mirrors',
    ipAddresses: [HOST],
    usages: ['server'],
    validityMs: CERTIFICATE_MS,
  });
  return { ...pair, caPem: authority.certPem };
}
