/**
 * OCI layouts: `index.json` lists manifests, or indexes of them by platform. The existing parts of an index are kept;
 * the manifest for this machine must be complete, as after a pull.
 */
import type { ContentClient, Descriptor } from './content-client.ts';
import { ImageArchiveError, refuseNameOfSeveral, wholeName } from './image-name.ts';
import { indexIn, manifestIn, platformIn, type Index, type RawDescriptor } from './oci-descriptor.ts';

/** An image with its names. */
export interface FoundImage {
  readonly names: readonly string[];
  readonly target: Descriptor;
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

/** The named images of a layout. Rejects with `ImageArchiveError`. */
export async function layoutImages(layout: Layout): Promise<readonly FoundImage[]> {
  const { index, chosenNames } = layout;
  const images: FoundImage[] = [];
  for (const entry of index.manifests) {
    const names = chosenNames ?? namesOf(entry, layout);
    if (names.length === 0) continue;
    const { digest = '', mediaType = '', size = 0 } = entry;
    const walk = { ...layout, platforms: new Set<string>(), known: new Map<string, boolean>() };
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
  /** The platforms whose content is complete. */
  readonly platforms: Set<string>;
  /** Known results by descriptor: an index may name another thousands of times, and so may that one. */
  readonly known: Map<string, boolean>;
}

/** Records the blobs that a descriptor's blob refers to; resolves to whether this machine can run it. */
async function keep(descriptor: RawDescriptor, walk: Walk, depth: number): Promise<boolean> {
  const { digest = '', platform = {} } = descriptor;
  const [asIndex, asManifest] = [`${digest} ${depth}`, `${digest} ${platform.os}/${platform.architecture}`];
  const known = walk.known.get(asIndex) ?? walk.known.get(asManifest);
  if (known !== undefined) return known;
  const found = walk.document(digest);
  if (found === undefined || depth > MAX_DEPTH) return false;
  const index = indexIn(found);
  const kept =
    index === undefined ? await keepManifest(descriptor, walk) : await keepIndex(digest, index, { walk, depth });
  walk.known.set(index === undefined ? asManifest : asIndex, kept);
  return kept;
}

async function keepIndex(
  digest: string,
  { manifests }: Index,
  { walk, depth }: { readonly walk: Walk; readonly depth: number },
): Promise<boolean> {
  let isKept = false;
  for (const child of manifests) isKept = (await keep(child, walk, depth + 1)) || isKept;
  const children = [...new Set(manifests.map((child) => child.digest ?? ''))];
  await walk.content.setReferences(
    digest,
    children.filter((child) => walk.document(child) !== undefined),
  );
  return isKept;
}

async function keepManifest({ digest = '', platform }: RawDescriptor, walk: Walk): Promise<boolean> {
  const { content, document, architecture, platforms } = walk;
  const manifest = manifestIn(document(digest));
  if (manifest === undefined) return false;
  const children = [manifest.config, ...manifest.layers].map((child) => child.digest ?? '');
  const there = await Promise.all([...new Set(children)].map((child) => content.has(child)));
  if (there.includes(false)) return false;
  await content.setReferences(digest, children);
  const { os = 'linux', architecture: imageArchitecture = '' } =
    platform ?? platformIn(document(manifest.config.digest ?? '')) ?? {};
  if (os === 'unknown') return false; // an attestation
  platforms.add(`${os}/${imageArchitecture}`);
  return os === 'linux' && (imageArchitecture === architecture || imageArchitecture === '');
}

/** The names by containerd's annotation, otherwise Docker's file, otherwise a reference that is a whole name itself. */
function namesOf({ digest, annotations }: RawDescriptor, { manifests, document }: Layout): readonly string[] {
  const whole = annotations['io.containerd.image.name'];
  if (whole !== undefined) return [wholeName(whole)];
  const config = manifestIn(document(digest ?? ''))?.config.digest?.replace('sha256:', '');
  const tags = (Array.isArray(manifests) ? (manifests as ({ Config?: unknown; RepoTags?: unknown } | null)[]) : [])
    .filter((entry) => config !== undefined && String(entry?.Config ?? '').includes(config))
    .flatMap((entry) => (Array.isArray(entry?.RepoTags) ? (entry.RepoTags as unknown[]) : []));
  if (tags.length > 0) return tags.map((tag) => wholeName(String(tag)));
  const reference = annotations['org.opencontainers.image.ref.name'];
  return reference !== undefined && /[:/]/.test(reference) ? [wholeName(reference)] : [];
}
