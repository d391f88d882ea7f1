/**
 * Uploads of blobs in progress. One request at a time writes to each upload; number, size and idle time are bounded.
 * They do not survive a restart: clients start over.
 */
import type { Hash } from 'node:crypto';
import type { Clock } from '../../platform/clock.ts';
import type { Files } from '../../platform/files.ts';
import type { Random } from '../../platform/random.ts';
import { type BlobStore, filePieces, startHash } from './blob-store.ts';
import type { Digest } from './oci-names.ts';
import { RegistryError } from './registry-error.ts';

export interface UploadLimits {
  readonly maxBytes: number;
  readonly maxCount: number;
  readonly maxIdleMs: number;
}

export const UPLOAD_LIMITS: UploadLimits = {
  maxBytes: 32 * 1024 ** 3,
  maxCount: 64,
  maxIdleMs: 3_600_000,
};

/** Free disk space is checked each time all uploads together have written this many bytes. */
const ROOM_BYTES = 64 * 1024 ** 2;

interface Upload {
  readonly name: string;
  readonly path: string;
  readonly hash: Hash;
  readonly algorithm: Digest['algorithm'];
  sizeBytes: number;
  usedAtMs: number;
  isBusy: boolean;
}

interface UploadDeps {
  readonly files: Files;
  readonly clock: Clock;
  readonly random: Random;
  readonly blobs: BlobStore;
}

export class Uploads {
  readonly #deps: UploadDeps;
  readonly #folder: string;
  readonly #limits: UploadLimits;
  readonly #uploads = new Map<string, Upload>();
  /** Bytes written since free space was checked. */
  #uncheckedBytes = 0;

  constructor(deps: UploadDeps, folder: string, limits: UploadLimits = UPLOAD_LIMITS) {
    this.#deps = deps;
    this.#folder = `${folder}/uploads`;
    this.#limits = limits;
  }

  /** Removes uploads of an earlier run. */
  async open(): Promise<void> {
    await this.#deps.files.remove(this.#folder);
    await this.#deps.files.makeDir(this.#folder, { mode: 0o700 });
  }

  /** Resolves to the upload's id. */
  async begin(name: string, algorithm: Digest['algorithm']): Promise<string> {
    if (this.#uploads.size >= this.#limits.maxCount)
      throw new RegistryError(429, 'TOOMANYREQUESTS', `${this.#limits.maxCount} uploads are under way`, {
        'retry-after': '10',
      });
    const { clock, files, random } = this.#deps;
    const id = random.uuid();
    const path = `${this.#folder}/${id}`;
    const usedAtMs = clock.monotonicMs();
    this.#uploads.set(id, {
      name,
      path,
      hash: startHash(algorithm),
      algorithm,
      sizeBytes: 0,
      usedAtMs,
      isBusy: false,
    });
    try {
      await this.#deps.blobs.checkRoom();
      await files.writeFile(path, '', { mode: 0o600 });
    } catch (error) {
      this.#uploads.delete(id);
      throw error;
    }
    return id;
  }

  size(name: string, id: string): number {
    return this.#find(name, id).sizeBytes;
  }

  /** Appends a chunk, which must begin at `offset` if given. Resolves to the size. */
  async append(name: string, id: string, body: AsyncIterable<Uint8Array>, offset?: number): Promise<number> {
    const upload = this.#find(name, id);
    return await this.#alone(upload, async () => {
      if (offset !== undefined && offset !== upload.sizeBytes) throw outOfOrder(name, id, upload.sizeBytes);
      await this.#write(upload, id, body);
      return upload.sizeBytes;
    });
  }

  /**
   * Appends the rest and stores the whole as a blob. The upload ends even when its digest does not match or the disk
   * is full.
   */
  async finish(name: string, id: string, digest: Digest, rest: AsyncIterable<Uint8Array>): Promise<void> {
    const upload = this.#find(name, id);
    await this.#alone(upload, async () => {
      await this.#write(upload, id, rest);
      await this.#orDrop(id, this.#putAway(upload, digest));
      this.#uploads.delete(id);
    });
  }

  async #putAway(upload: Upload, digest: Digest): Promise<void> {
    const hex =
      digest.algorithm === upload.algorithm ? upload.hash.digest('hex') : await this.#hashFile(upload, digest);
    if (hex !== digest.hex) throw new RegistryError(400, 'DIGEST_INVALID', 'the content does not have this digest');
    const handle = await this.#deps.files.open(upload.path, 'a');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
    await this.#deps.blobs.adopt(upload.path, digest);
  }

  async cancel(name: string, id: string): Promise<void> {
    const upload = this.#find(name, id);
    await this.#alone(upload, () => this.#drop(id));
  }

  /** Removes uploads that were idle too long. */
  async expire(): Promise<void> {
    const beforeMs = this.#deps.clock.monotonicMs() - this.#limits.maxIdleMs;
    for (const [id, { isBusy, usedAtMs }] of this.#uploads) if (!isBusy && usedAtMs < beforeMs) await this.#drop(id);
  }

  #find(name: string, id: string): Upload {
    const upload = this.#uploads.get(id);
    if (upload?.name !== name) throw new RegistryError(404, 'BLOB_UPLOAD_UNKNOWN', 'there is no such upload');
    return upload;
  }

  async #alone<T>(upload: Upload, work: () => Promise<T>): Promise<T> {
    if (upload.isBusy) throw new RegistryError(409, 'BLOB_UPLOAD_INVALID', 'another request is writing to this upload');
    upload.isBusy = true;
    try {
      return await work();
    } finally {
      upload.isBusy = false;
      upload.usedAtMs = this.#deps.clock.monotonicMs();
    }
  }

  /** Keeps what was received before the body was interrupted: the client may continue from there. */
  async #write(upload: Upload, id: string, body: AsyncIterable<Uint8Array>): Promise<void> {
    const handle = await this.#deps.files.open(upload.path, 'a');
    try {
      for await (const chunk of body) {
        if (upload.sizeBytes + chunk.length > this.#limits.maxBytes) {
          await this.#drop(id);
          throw new RegistryError(413, 'SIZE_INVALID', `a blob has at most ${this.#limits.maxBytes} bytes`);
        }
        this.#uncheckedBytes += chunk.length;
        if (this.#uncheckedBytes > ROOM_BYTES) {
          await this.#deps.blobs.checkRoom();
          this.#uncheckedBytes = 0;
        }
        // A full disk writes a part of the chunk, after which the next would be at the wrong offset.
        await this.#orDrop(id, handle.append(chunk));
        upload.hash.update(chunk);
        upload.sizeBytes += chunk.length;
      }
    } finally {
      await handle.close();
    }
  }

  async #hashFile({ path, sizeBytes }: Upload, { algorithm }: Digest): Promise<string> {
    const hash = startHash(algorithm);
    for await (const piece of filePieces(this.#deps.files, path, 0, sizeBytes)) hash.update(piece);
    return hash.digest('hex');
  }

  async #orDrop(id: string, work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      await this.#drop(id);
      throw error;
    }
  }

  async #drop(id: string): Promise<void> {
    const upload = this.#uploads.get(id);
    this.#uploads.delete(id);
    if (upload !== undefined) await this.#deps.files.remove(upload.path);
  }
}

export function uploadHeaders(name: string, id: string, sizeBytes: number): Record<string, string> {
  return {
    location: `/v2/${name}/blobs/uploads/${id}`,
    range: `0-${Math.max(0, sizeBytes - 1)}`,
    'docker-upload-uuid': id,
  };
}

function outOfOrder(name: string, id: string, sizeBytes: number): RegistryError {
  return new RegistryError(
    416,
    'BLOB_UPLOAD_INVALID',
    `the next byte is ${sizeBytes}`,
    uploadHeaders(name, id, sizeBytes),
  );
}
