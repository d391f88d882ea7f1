/** Docker's older archives: `manifest.json` names a configuration and layers; a manifest is made for them. */
import type { ContentClient } from './content-client.ts';
import { ImageArchiveError, refuseNameOfSeveral, wholeName } from './image-name.ts';
import type { FoundImage } from './oci-layout.ts';

/** A stored file of the archive. */
export interface ArchiveBlob {
  readonly digest: string;
  readonly size: number;
  /** Its first bytes, which show how it is compressed. */
  readonly magic: Uint8Array;
}

interface DockerArchive {
  readonly manifests: readonly unknown[];
  readonly blob: (path: string) => ArchiveBlob | undefined;
  readonly content: ContentClient;
  readonly chosenNames: readonly string[] | undefined;
}

/** Its images. Rejects with `ImageArchiveError`. */
export async function dockerImages({
  manifests,
  blob,
  content,
  chosenNames,
}: DockerArchive): Promise<readonly FoundImage[]> {
  refuseNameOfSeveral(chosenNames, manifests.length);
  const need = (path: unknown): ArchiveBlob => {
    const found = typeof path === 'string' ? blob(path) : undefined;
    if (found === undefined)
      throw new ImageArchiveError(`its manifest names ${JSON.stringify(path)}, which it does not hold`);
    return found;
  };
  const images: FoundImage[] = [];
  for (const entry of manifests as { Config?: unknown; Layers?: unknown; RepoTags?: unknown }[]) {
    const layers = (Array.isArray(entry?.Layers) ? entry.Layers : []).map(need);
    const config = need(entry?.Config);
    const tags = Array.isArray(entry.RepoTags) ? entry.RepoTags.map((tag) => wholeName(String(tag))) : [];
    const names = chosenNames ?? tags;
    if (names.length === 0) throw new ImageArchiveError('it does not name its image: give one (--image NAME:TAG)');
    const manifest = Buffer.from(
      JSON.stringify({
        schemaVersion: 2,
        mediaType: 'application/vnd.oci.image.manifest.v1+json',
        config: { mediaType: 'application/vnd.oci.image.config.v1+json', digest: config.digest, size: config.size },
        layers: layers.map(({ digest, size, magic }) => ({ mediaType: layerType(magic), digest, size })),
      }),
    );
    const { digest } = await content.write({ size: manifest.length, body: oneChunk(manifest) });
    await content.setReferences(digest, [config.digest, ...layers.map((layer) => layer.digest)]);
    const mediaType = 'application/vnd.oci.image.manifest.v1+json';
    images.push({ names, target: { mediaType, digest, size: manifest.length } });
  }
  return images;
}

function layerType(magic: Uint8Array): string {
  const base = 'application/vnd.oci.image.layer.v1.tar';
  if (magic[0] === 0x1f && magic[1] === 0x8b) return `${base}+gzip`;
  return Buffer.from(magic).equals(Buffer.from([0x28, 0xb5, 0x2f, 0xfd])) ? `${base}+zstd` : base;
}

async function* oneChunk(data: Uint8Array): AsyncGenerator<Uint8Array> {
  yield data;
}
