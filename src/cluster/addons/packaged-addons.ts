/** Addons that ship with Keelson: each is a file of manifests, which a cluster has once it is enabled. */
import type { Files } from '../../platform/files.ts';

const PACKAGED = {
  helm: async (): Promise<readonly object[]> => (await import('../helm/helm-definitions.ts')).helmDefinitions(),
  'gateway-api': async (): Promise<readonly object[]> =>
    (await import('../../gateway/gateway-api/definitions.ts')).gatewayApiObjects(),
};

export type PackagedAddon = keyof typeof PACKAGED;

export const PACKAGED_ADDONS = Object.keys(PACKAGED) as readonly PackagedAddon[];

export function isPackaged(name: string): name is PackagedAddon {
  return Object.hasOwn(PACKAGED, name);
}

/** The addon's file in a folder of manifests. */
export function packagedFile(folder: string, name: PackagedAddon): string {
  return `${folder}/${name}.json`;
}

/** Writes the addon's file; returns its path. A partial file would be applied, so it is written atomically. */
export async function writePackaged(files: Files, folder: string, name: PackagedAddon): Promise<string> {
  const path = packagedFile(folder, name);
  const items = await PACKAGED[name]();
  await files.writeFileAtomic(path, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }), { mode: 0o600 });
  return path;
}
