/**
 * Loads the images of an archive into containerd while reading it as a stream: archives of `docker save`, `podman
 * save`, `buildah push`, `skopeo` and BuildKit, as OCI layouts or in Docker's older format. Existing blobs are not
 * written again. Of images for several platforms only this machine's must be complete. Upstream: `ctr images import`,
 * `kind load`.
 */
import { errorMessage } from '../../base/errors.ts';
import { dirname, joinPath } from './archive-paths.ts';
import type { ContentClient } from './content-client.ts';
import { dockerImages, type ArchiveBlob } from './docker-archive.ts';
import { ImageArchiveError, wholeName } from './image-name.ts';
import { indexIn } from './oci-descriptor.ts';
import { layoutImages, type FoundImage } from './oci-layout.ts';
import { readTar, TarError, type TarMember } from './tar-reader.ts';

export interface LoadArchive {
  readonly content: ContentClient;
  /** This machine's architecture by Go's name. */
  readonly architecture: string;
  /** For an image that the archive does not name. */
  readonly name?: string | undefined;
  /** Whether the kubelet's image garbage collection skips the images. */
  readonly pinned?: boolean | undefined;
}

export interface LoadedImage {
  readonly name: string;
  readonly digest: string;
}

/** The loaded images, and how much of them was new. */
export interface LoadOutcome {
  readonly images: readonly LoadedImage[];
  readonly writtenBytes: number;
  readonly totalBytes: number;
}

/** Documents are kept in memory; layers are not. */
const MAX_DOCUMENT_BYTES = 4 * 1024 * 1024;
const MAX_DOCUMENTS_BYTES = 64 * 1024 * 1024;
/** Names of all files and links; images have some thousands at most. */
const MAX_NAMES_BYTES = 64 * 1024 * 1024;

/** The memory of a member with the shortest name. */
const LEAST_NAME_BYTES = 200;

/**
 * Loads the archive. Rejects with `ImageArchiveError` for an invalid archive, with GrpcError when containerd refuses.
 */
export async function loadArchive(chunks: AsyncIterable<Uint8Array>, load: LoadArchive): Promise<LoadOutcome> {
  const archive = new Archive(load.content);
  try {
    for await (const member of readTar(chunks)) await archive.take(member);
  } catch (error) {
    throw error instanceof TarError ? new ImageArchiveError(errorMessage(error)) : error;
  }
  const found = await archive.images(load);
  const images: LoadedImage[] = [];
  for (const { names, target } of found)
    for (const name of names) {
      await load.content.putImage(name, target, load.pinned === true);
      images.push({ name, digest: target.digest });
    }
  return { images, writtenBytes: archive.writtenBytes, totalBytes: archive.totalBytes };
}

class Archive {
  writtenBytes = 0;
  totalBytes = 0;
  readonly #content: ContentClient;
  readonly #files = new Map<string, ArchiveBlob>();
  readonly #links = new Map<string, string>();
  readonly #documents = new Map<string, Uint8Array>();
  #documentBytes = 0;
  #nameBytes = 0;

  constructor(content: ContentClient) {
    this.#content = content;
  }

  async take(member: TarMember): Promise<void> {
    const { name, kind, hard, linkName } = member;
    this.#nameBytes += name.length + linkName.length + LEAST_NAME_BYTES;
    if (this.#nameBytes > MAX_NAMES_BYTES) throw new ImageArchiveError('it holds too many files, or too long names');
    if (kind === 'link') this.#links.set(name, hard ? joinPath('', linkName) : joinPath(dirname(name), linkName));
    if (kind !== 'file' || name === 'oci-layout' || name === 'repositories' || name.endsWith('/VERSION')) return;
    if (name === 'index.json' || name === 'manifest.json') {
      const parts: Uint8Array[] = [];
      this.#reserve(member.size);
      for await (const chunk of member.body()) parts.push(chunk);
      this.#documents.set(name, Buffer.concat(parts));
      return;
    }
    await this.#write(member);
  }

  async #write({ name, size, body }: TarMember): Promise<void> {
    const hex = /(?:^|\/)blobs\/sha256\/([0-9a-f]{64})$/.exec(name)?.[1];
    const watched = new WatchedBody(body(), size <= MAX_DOCUMENT_BYTES);
    const { digest, written } = await this.#content.write({
      digest: hex === undefined ? undefined : `sha256:${hex}`,
      size,
      body: watched.chunks(),
    });
    await watched.rest();
    this.totalBytes += size;
    if (written) this.writtenBytes += size;
    this.#files.set(name, { digest, size, magic: watched.magic });
    if (watched.document === undefined) return;
    this.#reserve(size);
    this.#documents.set(digest, watched.document);
  }

  #reserve(bytes: number): void {
    this.#documentBytes += bytes;
    if (bytes > MAX_DOCUMENT_BYTES || this.#documentBytes > MAX_DOCUMENTS_BYTES)
      throw new ImageArchiveError('its documents are too large');
  }

  async images({ architecture, name }: LoadArchive): Promise<readonly FoundImage[]> {
    const content = this.#content;
    const read = (text: Uint8Array | undefined): unknown => (text === undefined ? undefined : parse(text));
    const document = (digest: string): unknown => read(this.#documents.get(digest));
    const index = indexIn(read(this.#documents.get('index.json')));
    const manifests = read(this.#documents.get('manifest.json'));
    const chosenNames = name === undefined ? undefined : [wholeName(name)];
    if (index !== undefined) return layoutImages({ index, manifests, document, content, architecture, chosenNames });
    if (!Array.isArray(manifests))
      throw new ImageArchiveError('it holds neither index.json nor manifest.json: it is no archive of images');
    const blob = (path: string): ArchiveBlob | undefined => this.#files.get(this.#links.get(path) ?? path);
    return dockerImages({ manifests, blob, content, chosenNames });
  }
}

function parse(text: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(text).toString('utf8')) as unknown;
  } catch {
    throw new ImageArchiveError('one of its documents is no JSON');
  }
}

/** Passes a body on, keeping its first bytes, or all of it if it is a small JSON document. */
class WatchedBody {
  magic: Uint8Array = Buffer.alloc(0);
  readonly #body: AsyncGenerator<Uint8Array>;
  readonly #small: boolean;
  readonly #kept: Uint8Array[] = [];

  constructor(body: AsyncGenerator<Uint8Array>, small: boolean) {
    this.#body = body;
    this.#small = small;
  }

  get document(): Uint8Array | undefined {
    return this.#isDocument() ? Buffer.concat(this.#kept) : undefined;
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    // Without `for await`: leaving the loop would end the body, which `rest` continues to read.
    for (let next = await this.#body.next(); next.done !== true; next = await this.#body.next()) {
      if (this.magic.length < 4) this.magic = Buffer.concat([this.magic, next.value.subarray(0, 4)]).subarray(0, 4);
      if (this.#isDocument()) this.#kept.push(Buffer.from(next.value));
      yield next.value;
    }
  }

  /** Reads the rest of a body whose blob existed already. */
  async rest(): Promise<void> {
    for await (const _chunk of this.chunks());
  }

  #isDocument(): boolean {
    return this.#small && this.magic[0] === 0x7b;
  }
}
