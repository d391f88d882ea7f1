/** The files of `<data-dir>/manifests`: each an addon by its name, with the objects it describes. */
import type { KubernetesObject } from '../../api/object.ts';
import { manifestObjects } from '../../component-helpers/manifest-objects.ts';
import type { Files } from '../../platform/files.ts';

export interface AddonFile {
  /** The name of its Addon. */
  readonly name: string;
  readonly path: string;
}

const MANIFEST = /\.(ya?ml|json)$/;
const MAX_DEPTH = 8;

/** Files in the folder and those below it, sorted, but for those with a `FILE.skip` beside them; with the folders looked at. */
export async function addonFiles(
  files: Files,
  folder: string,
): Promise<{ readonly found: readonly AddonFile[]; readonly folders: readonly string[] }> {
  const found: AddonFile[] = [];
  const folders: string[] = [];
  const walk = async (path: string, depth: number): Promise<void> => {
    folders.push(path);
    const names = await files.readDir(path);
    for (const name of names) {
      if (name.startsWith('.') || names.includes(`${name}.skip`)) continue;
      const { kind } = await files.stat(`${path}/${name}`);
      if (kind === 'directory' && depth < MAX_DEPTH) await walk(`${path}/${name}`, depth + 1);
      else if (kind === 'file' && MANIFEST.test(name)) found.push({ name: addonName(name), path: `${path}/${name}` });
    }
  };
  await walk(folder, 0);
  return { found, folders };
}

/** The file's name without its end, as the name of an object. */
export function addonName(file: string): string {
  return file
    .replace(MANIFEST, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]+/g, '-')
    .replaceAll(/^[^a-z0-9]+|[^a-z0-9]+$/g, '');
}

/** The objects of a file's text; namespaces and definitions of kinds first. Throws an Error that says what is wrong. */
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
