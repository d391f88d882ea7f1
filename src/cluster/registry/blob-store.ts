/**
 * Stores content by its digest, once for all repositories: `blobs/ALGORITHM/HEX`. Blobs appear atomically: they are
 * written elsewhere, their digest is checked, and they are renamed into place.
 */
import { createHash, type Hash } from 'node:crypto';
import { hasErrorCode } from '../../base/errors.ts';
import type { Files } from '../../platform/files.ts';
import type { Digest } from './oci-names.ts';
import { RegistryError } from './registry-error.ts';

const PIECE_BYTES = 256 * 1024;
/** Disk space that pushes leave free, since the cluster's store may be on the same disk. */
const RESERVE_BYTES = 512 * 1024 ** 2;

export class BlobStore {
  readonly #files: Files;
  readonly #folder: string;
  readonly #reserveBytes: number;

  constructor(files: Files, folder: string, reserveBytes = RESERVE_BYTES) {
    this.#files = files;
    this.#folder = folder;
    this.#reserveBytes = reserveBytes;
  }

  /** @throws RegistryError when the disk is nearly full */
  async checkRoom(): Promise<void> {
    const { availableBytes } = await this.#files.statFileSystem(this.#folder);
    if (availableBytes < this.#reserveBytes)
      throw new RegistryError(507, 'DENIED', 'the disk of the registry is nearly full');
  }

  async open(): Promise<void> {
    await this.#files.makeDir(`${this.#folder}/blobs`, { mode: 0o700 });
    for (const algorithm of ['sha256', 'sha512'])
      await this.#files.makeDir(`${this.#folder}/blobs/${algorithm}`, { mode: 0o700 });
  }

  path({ algorithm, hex }: Digest): string {
    return `${this.#folder}/blobs/${algorithm}/${hex}`;
  }

  /** Undefined for an unknown digest. */
  async size(digest: Digest): Promise<number | undefined> {
    return await this.#files.stat(this.path(digest)).then(
      ({ sizeBytes }) => sizeBytes,
      (error: unknown) => {
        if (hasErrorCode(error, 'ENOENT')) return undefined;
        throw error;
      },
    );
  }

  /** Moves a file whose digest was checked into the store. */
  async adopt(path: string, digest: Digest): Promise<void> {
    await this.#files.rename(path, this.path(digest));
  }

  async write(content: Uint8Array, digest: Digest): Promise<void> {
    await this.#files.writeFileAtomic(this.path(digest), content, { mode: 0o600 });
  }

  async read(digest: Digest): Promise<Uint8Array> {
    return await this.#files.readFile(this.path(digest));
  }

  async remove(digest: Digest): Promise<void> {
    await this.#files.remove(this.path(digest));
  }

  /** The bytes from `start` up to `end` (exclusive), in chunks. */
  pieces(digest: Digest, start: number, end: number): AsyncIterable<Uint8Array> {
    return filePieces(this.#files, this.path(digest), start, end);
  }

  /** All blobs with their modification times. */
  async list(): Promise<{ readonly digest: Digest; readonly mtimeMs: number }[]> {
    const found = [];
    for (const algorithm of ['sha256', 'sha512'] as const)
      for (const hex of await this.#files.readDir(`${this.#folder}/blobs/${algorithm}`)) {
        const digest = { text: `${algorithm}:${hex}`, algorithm, hex };
        const stat = await this.#files.stat(this.path(digest)).catch(() => undefined); // deleted in the meantime
        if (stat !== undefined) found.push({ digest, mtimeMs: stat.mtimeMs });
      }
    return found;
  }
}

export async function* filePieces(
  files: Files,
  path: string,
  start: number,
  end: number,
): AsyncGenerator<Uint8Array, void, void> {
  const handle = await files.open(path, 'r');
  try {
    for (let offset = start; offset < end;) {
      const piece = await handle.read(offset, Math.min(PIECE_BYTES, end - offset));
      if (piece.length === 0) throw new Error(`${path} is shorter than it was`);
      offset += piece.length;
      yield piece;
    }
  } finally {
    await handle.close();
  }
}

export function startHash(algorithm: Digest['algorithm']): Hash {
  return createHash(algorithm);
}

export function contentDigest(content: Uint8Array, algorithm: Digest['algorithm'] = 'sha256'): Digest {
  const hex = createHash(algorithm).update(content).digest('hex');
  return { text: `${algorithm}:${hex}`, algorithm, hex };
}
