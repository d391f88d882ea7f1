/** The files of `<data-dir>/manifests`: each is an addon with a name and objects. */
import type { KubernetesObject } from '../../api/object.ts';
import { errorMessage, hasErrorCode } from '../../base/errors.ts';
import { manifestObjects } from '../../component-helpers/manifest-objects.ts';
import type { Files } from '../../platform/files.ts';

export interface AddonFile {
  /** The name of the file's Addon. */
  readonly name: string;
  readonly path: string;
}

export interface AddonFolder {
  /** Several files may have one name. */
  readonly found: readonly AddonFile[];
  /** The folders that were read. */
  readonly folders: readonly string[];
  /** Dangling links and folders that cannot be read: files behind them must not count as deleted. */
  readonly unreadable: readonly { readonly path: string; readonly reason: string }[];
}

const MANIFEST = /\.(ya?ml|json)$/;
const MAX_DEPTH = 8;

/** Files in the folder and below it, sorted, without those that have a `FILE.skip` beside them. */
export async function addonFiles(files: Files, folder: string): Promise<AddonFolder> {
  const found: AddonFile[] = [];
  const folders: string[] = [];
  const unreadable: { path: string; reason: string }[] = [];
  const walk = async (path: string, names: readonly string[], depth: number): Promise<void> => {
    folders.push(path);
    for (const name of names)
      if (!name.startsWith('.') && !names.includes(`${name}.skip`)) await visit(`${path}/${name}`, name, depth);
  };
  const visit = async (path: string, name: string, depth: number): Promise<void> => {
    try {
      const { kind } = await files.stat(path);
      if (kind === 'directory' && depth < MAX_DEPTH) await walk(path, await files.readDir(path), depth + 1);
      else if (kind === 'file' && MANIFEST.test(name)) found.push({ name: addonName(name), path });
    } catch (error) {
      if (await isMissing(files, path)) return;
      unreadable.push({ path, reason: errorMessage(error) });
    }
  };
  await walk(folder, await files.readDir(folder), 0);
  return { found, folders, unreadable };
}

/** Whether it was deleted while the folder was read; a dangling link still exists. */
async function isMissing(files: Files, path: string): Promise<boolean> {
  try {
    await files.lstat(path);
    return false;
  } catch (error) {
    return hasErrorCode(error, 'ENOENT');
  }
}

/** The file's name without its extension, as an object name. */
export function addonName(file: string): string {
  return file
    .replace(MANIFEST, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]+/g, '-')
    .replaceAll(/^[^a-z0-9]+|[^a-z0-9]+$/g, '');
}

/** The objects in a file's text; namespaces and definitions of kinds first. Throws an Error with the reason. */
export async function addonObjects(text: string): Promise<readonly KubernetesObject[]> {
  const { parseYamlDocuments } = await import('../../api/codec/yaml.ts');
  const values = parseYamlDocuments(text).map(({ value }) => value);
  const objects = manifestObjects(values.filter((value) => value !== null && value !== undefined));
  const first = objects.filter(isFirst);
  return [...first, ...objects.filter((object) => !isFirst(object))];
}

function isFirst({ kind }: KubernetesObject): boolean {
  return kind === 'Namespace' || kind === 'CustomResourceDefinition';
}
