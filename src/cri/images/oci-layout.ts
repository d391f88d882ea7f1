/**
 * OCI layouts: `index.json` names manifests, or indexes of them by platform. Of an index what is there is kept; the manifest
 * for this machine must be whole, as after a pull.
 */
import type { ContentClient, Descriptor } from './content-client.ts';
import { ImageArchiveError, refuseNameOfSeveral, wholeName } from './image-name.ts';

/** An image with its names. */
export interface FoundImage {
  readonly names: readonly string[];
  readonly target: Descriptor;
}

interface RawDescriptor {
  readonly mediaType?: string;
  readonly digest?: string;
  readonly size?: number;
  readonly platform?: { readonly os?: string; readonly architecture?: string };
  readonly annotations?: Readonly<Record<string, string>>;
}

/** An index, or a layout's own. */
export interface Index {
  readonly manifests: readonly RawDescriptor[];
}

interface Layout {
  readonly index: Index;
  /** Docker's manifest.json, where the archive has both: it has the whole names. */
  readonly manifests: unknown;
  readonly document: (digest: string) => unknown;
  readonly content: ContentClient;
  readonly architecture: string;
  readonly chosenNames: readonly string[] | undefined;
}

const MAX_DEPTH = 4;

export function isIndex(document: unknown): document is Index {
  return Array.isArray((document as Partial<Index> | undefined)?.manifests);
}

/** The named images of a layout. Rejects with `ImageArchiveError`. */
export async function layoutImages(layout: Layout): Promise<readonly FoundImage[]> {
  const { index, chosenNames } = layout;
  const images: FoundImage[] = [];
  for (const entry of index.manifests) {
    const names = chosenNames ?? namesOf(entry, layout);
    if (names.length === 0) continue;
    const { digest = '', mediaType = '', size = 0 } = entry;
    const walk = { ...layout, platforms: new Set<string>() };
    if (!(await keep(entry, walk, 0)))
      throw new ImageArchiveError(
        `${names[0]} is not whole for linux/${layout.architecture}; it is there for ${[...walk.platforms].join(', ') || 'no platform'}`,
      );
    images.push({ names, target: { mediaType, digest, size } });
  }
  if (images.length === 0) throw new ImageArchiveError('it does not name its image: give one (--image NAME:TAG)');
  refuseNameOfSeveral(chosenNames, images.length);
  return images;
}

interface Walk extends Layout {
  /** Those that are whole. */
  readonly platforms: Set<string>;
}

/** Sets what a descriptor's blob refers to; resolves to whether this machine can run it. */
async function keep({ digest = '', platform }: RawDescriptor, walk: Walk, depth: number): Promise<boolean> {
  const { content, document, architecture, platforms } = walk;
  const found = document(digest) as (Partial<Index> & { config?: RawDescriptor; layers?: RawDescriptor[] }) | undefined;
  if (found === undefined || depth > MAX_DEPTH) return false;
  if (isIndex(found)) {
    const kept: boolean[] = [];
    for (const child of found.manifests) kept.push(await keep(child, walk, depth + 1));
    await content.setReferences(
      digest,
      found.manifests.filter((child) => document(child.digest ?? '') !== undefined).map((child) => child.digest ?? ''),
    );
    return kept.includes(true);
  }
  const children = [found.config, ...(found.layers ?? [])].map((child) => child?.digest ?? '');
  const there = await Promise.all(children.map((child) => content.has(child)));
  if (there.includes(false)) return false;
  await content.setReferences(digest, children);
  const { os = 'linux', architecture: imageArchitecture = '' } =
    platform ?? (document(found.config?.digest ?? '') as RawDescriptor['platform']) ?? {};
  if (os === 'unknown') return false; // An attestation.
  platforms.add(`${os}/${imageArchitecture}`);
  return os === 'linux' && (imageArchitecture === architecture || imageArchitecture === '');
}

/** By containerd's annotation, else Docker's file, else a reference that is a whole name itself. */
function namesOf({ digest, annotations = {} }: RawDescriptor, { manifests, document }: Layout): readonly string[] {
  const whole = annotations['io.containerd.image.name'];
  if (whole !== undefined) return [wholeName(whole)];
  const config = (document(digest ?? '') as { config?: RawDescriptor } | undefined)?.config?.digest?.replace(
    'sha256:',
    '',
  );
  const tags = (Array.isArray(manifests) ? (manifests as { Config?: string; RepoTags?: string[] | null }[]) : [])
    .filter((entry) => config !== undefined && entry.Config?.includes(config) === true)
    .flatMap(({ RepoTags }) => RepoTags ?? []);
  if (tags.length > 0) return tags.map(wholeName);
  const reference = annotations['org.opencontainers.image.ref.name'];
  return reference !== undefined && /[:/]/.test(reference) ? [wholeName(reference)] : [];
}
