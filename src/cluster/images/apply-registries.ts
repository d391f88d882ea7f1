/**
 * Applies `<data-dir>/registries.yaml` to containerd: writes its `hosts.toml` files, and deletes those of removed
 * registries.
 */
import type { Files } from '../../platform/files.ts';
import { PreflightError } from '../preflight-error.ts';
import type { RegistryAuth } from './registries-file.ts';

/**
 * Resolves to the credentials for containerd's configuration. Without the file no code is loaded. `own`: the
 * `hosts.toml` of Keelson's registries, by host. Rejects with `PreflightError`.
 */
export async function applyRegistries(
  files: Files,
  dataDir: string,
  own: Readonly<Record<string, string>> = {},
): Promise<Readonly<Record<string, RegistryAuth>>> {
  const path = `${dataDir}/registries.yaml`;
  const folder = `${dataDir}/registries`;
  const wanted = await files.exists(path);
  if (!wanted && Object.keys(own).length === 0 && !(await files.exists(folder))) return {};
  const { parseRegistries, WRITTEN_MARK } = await import('./registries-file.ts');
  const read = wanted ? parseRegistries(await files.readText(path), path) : { hosts: {}, auth: {} };
  const { auth } = read;
  const taken = Object.keys(own).find((host) => Object.hasOwn(read.hosts, host));
  if (taken !== undefined) throw new PreflightError(`${path} has ${taken}, which --registry serves: keep one of them`);
  const marked = Object.entries(own).map(
    ([host, text]) => [host, `${WRITTEN_MARK}, or for --registry\n${text}\n`] as const,
  );
  const hosts: Readonly<Record<string, string>> = { ...read.hosts, ...Object.fromEntries(marked) };
  await files.makeDir(folder, { mode: 0o711 });
  const isOurs = async (registry: string): Promise<boolean | undefined> => {
    const text = await files.readText(`${folder}/${registry}/hosts.toml`).catch(() => undefined);
    return text?.startsWith(WRITTEN_MARK);
  };
  for (const registry of await files.readDir(folder))
    if (!Object.hasOwn(hosts, registry) && (await isOurs(registry)) === true)
      await files.remove(`${folder}/${registry}`);
  for (const [registry, text] of Object.entries(hosts)) {
    if ((await isOurs(registry)) === false)
      throw new PreflightError(
        `${Object.hasOwn(own, registry) ? '--registry' : path} has ${registry}, and so has ${folder}/${registry}/hosts.toml: keep one of them`,
      );
    await files.makeDir(`${folder}/${registry}`, { mode: 0o711 });
    await files.writeFileAtomic(`${folder}/${registry}/hosts.toml`, text, { mode: 0o600 });
  }
  return auth;
}
