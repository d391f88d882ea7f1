/**
 * Applies `<data-dir>/registries.yaml` to containerd: writes its `hosts.toml` files, and deletes those of removed
 * registries. Starts the proxy that rewrites names where the file has rewrites that containerd cannot do.
 */
import type { Platform } from '../../platform/platform.ts';
import type { RegistryAuth } from '../mirrors/mirror.ts';
import type { RunningMirrorProxy } from '../mirrors/mirror-proxy.ts';
import { PreflightError } from '../preflight-error.ts';
import type { RegistryEndpoint, RegistrySettings } from './registries-file.ts';

export interface AppliedRegistries {
  /** Credentials for containerd's configuration, by host. */
  readonly auth: Readonly<Record<string, RegistryAuth>>;
  readonly proxy?: RunningMirrorProxy;
}

type Deps = Pick<Platform, 'clock' | 'crypto' | 'files' | 'listenHttp' | 'log' | 'net' | 'random'>;

/** The authority of the proxy's certificate, in the folder of the registries. */
const CA_FILE = 'mirror-proxy-ca.pem';

/**
 * Without the file no code is loaded. `own`: the `hosts.toml` of Keelson's registries, by host. Rejects with
 * `PreflightError`.
 */
export async function applyRegistries(
  platform: Deps,
  dataDir: string,
  own: Readonly<Record<string, string>> = {},
): Promise<AppliedRegistries> {
  const { files } = platform;
  const path = `${dataDir}/registries.yaml`;
  const folder = `${dataDir}/registries`;
  const wanted = await files.exists(path);
  if (!wanted && Object.keys(own).length === 0 && !(await files.exists(folder))) return { auth: {} };
  const { hostsToml, WRITTEN_MARK } = await import('./hosts-toml.ts');
  const settings = wanted
    ? (await import('./registries-file.ts')).parseRegistries(await files.readText(path), path)
    : { mirrors: {}, auth: {} };
  const { auth, mirrors } = settings;
  const taken = Object.keys(own).find((host) => Object.hasOwn(mirrors, host));
  if (taken !== undefined) throw new PreflightError(`${path} has ${taken}, which --registry serves: keep one of them`);
  const isOurs = async (registry: string): Promise<boolean | undefined> => {
    const text = await files.readText(`${folder}/${registry}/hosts.toml`).catch(() => undefined);
    return text?.startsWith(WRITTEN_MARK);
  };
  for (const registry of [...Object.keys(mirrors), ...Object.keys(own)])
    if ((await isOurs(registry)) === false)
      throw new PreflightError(
        `${Object.hasOwn(own, registry) ? '--registry' : path} has ${registry}, and so has ${folder}/${registry}/hosts.toml: keep one of them`,
      );
  const caFile = `${folder}/${CA_FILE}`;
  const { proxy, proxied } = await startProxy(platform, settings, caFile);
  try {
    const written = Object.entries(mirrors).map(
      ([registry, mirror]) => [registry, hostsToml(mirror, proxied)] as const,
    );
    const marked = Object.entries(own).map(
      ([host, text]) => [host, `${WRITTEN_MARK}, or for --registry\n${text}\n`] as const,
    );
    await files.makeDir(folder, { mode: 0o711 });
    if (proxy === undefined) await files.remove(caFile);
    else await files.writeFileAtomic(caFile, proxy.caPem, { mode: 0o600 });
    await replaceHosts(files, folder, { hosts: Object.fromEntries([...written, ...marked]), isOurs });
  } catch (error) {
    await proxy?.close();
    throw error;
  }
  return { auth, ...(proxy === undefined ? {} : { proxy }) };
}

interface Hosts {
  /** The `hosts.toml` of each registry. */
  readonly hosts: Readonly<Record<string, string>>;
  /** Whether Keelson wrote the registry's present file; undefined where there is none. */
  isOurs(registry: string): Promise<boolean | undefined>;
}

async function replaceHosts(files: Deps['files'], folder: string, { hosts, isOurs }: Hosts): Promise<void> {
  for (const registry of await files.readDir(folder))
    if (!Object.hasOwn(hosts, registry) && (await isOurs(registry)) === true)
      await files.remove(`${folder}/${registry}`);
  for (const [registry, text] of Object.entries(hosts)) {
    await files.makeDir(`${folder}/${registry}`, { mode: 0o711 });
    await files.writeFileAtomic(`${folder}/${registry}/hosts.toml`, text, { mode: 0o600 });
  }
}

/** The proxy is there before a file names it. */
async function startProxy(platform: Deps, { mirrors, auth }: RegistrySettings, caFile: string) {
  const rewritten = Object.values(mirrors).flatMap(({ endpoints }) =>
    endpoints.filter(({ rewrite }) => rewrite !== undefined),
  );
  if (rewritten.length === 0) return { proxied: () => undefined };
  const { startMirrorProxy } = await import('../mirrors/mirror-proxy.ts');
  const proxy = await startMirrorProxy(
    platform,
    rewritten.map(({ url, overridePath, tls, rewrite = (name) => name }) => ({
      url: overridePath ? url : `${url}/v2`,
      tls,
      auth: auth[new URL(url).host],
      rewrite,
    })),
  );
  const proxied = (endpoint: RegistryEndpoint) => {
    const index = rewritten.indexOf(endpoint);
    return index < 0 ? undefined : { url: proxy.url(index), headers: proxy.headers, caFile };
  };
  return { proxy, proxied };
}
