/**
 * Lists, uploads, downloads and removes snapshots in a bucket. Large ones are uploaded in parts, one of which is in
 * memory; a failed upload is aborted, so that its parts cost nothing. Upstream: k3s's pkg/etcd/s3.
 */
import type { FileHandle, Files } from '../../../platform/files.ts';
import { errorMessage } from '../../../base/errors.ts';
import { parseTime } from '../../../api/time.ts';
import { PreflightError } from '../../preflight-error.ts';
import { createdMsOf, excessSnapshots, type SnapshotFile, type SnapshotSeries } from '../snapshot-names.ts';
import { keyOf, locationOf } from './s3-address.ts';
import { completeBody, readListing, readUploadId } from './s3-answers.ts';
import type { S3Config } from './s3-options.ts';
import { s3Request, s3Stream, type S3Call, type S3Deps } from './s3-request.ts';

/** S3 accepts 10,000 parts of at least 5 MiB. */
const PART_BYTES = 16 * 1024 * 1024;
const MAX_PARTS = 10_000;
/** Retention keeps tens of snapshots. An endless listing is refused here, since all of it is kept in memory. */
const MOST_SNAPSHOTS = 100_000;
const MOST_PAGES = 1000;
const MOST_LISTING_BYTES = 64 * 1024 * 1024;
const LAST_REQUEST_MS = 3000;

export class S3Bucket {
  readonly #deps: S3Deps & { readonly files: Files };
  readonly #config: S3Config;
  readonly #partBytes: number;

  constructor(deps: S3Deps & { readonly files: Files }, config: S3Config, partBytes = PART_BYTES) {
    this.#deps = deps;
    this.#config = config;
    this.#partBytes = partBytes;
  }

  /** `s3://bucket/folder/name`. */
  locationOf(name: string): string {
    return locationOf(this.#config, name);
  }

  /** The snapshots directly in the folder, the newest first. */
  async list(): Promise<readonly SnapshotFile[]> {
    const snapshotFiles = await this.#list('', { delimiter: '/' });
    return snapshotFiles.toSorted((one, other) => other.createdMs - one.createdMs);
  }

  /** All files below a subfolder, recursively. */
  listBelow(folder: string): Promise<readonly SnapshotFile[]> {
    return this.#list(`${folder}/`, {});
  }

  async #list(below: string, more: Readonly<Record<string, string>>): Promise<readonly SnapshotFile[]> {
    const root = keyOf(this.#config, '');
    const snapshotFiles: SnapshotFile[] = [];
    let token: string | undefined;
    let [pages, length] = [0, 0];
    do {
      const query: Record<string, string> = { 'list-type': '2', 'encoding-type': 'url', ...more, prefix: root + below };
      if (token !== undefined) query['continuation-token'] = token;
      const doing = `listing ${locationOf(this.#config, '')}`;
      const { text } = await s3Request(this.#deps, this.#config, { method: 'GET', key: '', query, doing });
      const listing = readListing(text);
      if (listing === undefined) throw new PreflightError(`S3: ${doing}: the answer is no page of a listing`);
      if (++pages > MOST_PAGES) throw new PreflightError(`S3: ${doing}: the listing has more than ${MOST_PAGES} pages`);
      if ((length += text.length) > MOST_LISTING_BYTES)
        throw new PreflightError(`S3: ${doing}: the listing is longer than ${MOST_LISTING_BYTES} bytes`);
      if (snapshotFiles.length > MOST_SNAPSHOTS)
        throw new PreflightError(`S3: ${doing}: the folder has more than ${MOST_SNAPSHOTS} objects`);
      for (const { key, sizeBytes, lastModified } of listing.objects) {
        const name = key.slice(root.length);
        if (name !== '')
          snapshotFiles.push({ name, sizeBytes, createdMs: createdMsOf(name) ?? parseTime(lastModified) });
      }
      token = listing.continuationToken;
    } while (token !== undefined);
    return snapshotFiles;
  }

  /** Uploads a file under this name. */
  async upload(path: string, name: string): Promise<void> {
    const file = await this.#deps.files.open(path, 'r', { followLinks: true });
    try {
      const { sizeBytes } = await file.stat();
      if (sizeBytes <= this.#partBytes) await this.#put(await readPart(file, 0, sizeBytes), name);
      else await this.#putInParts(file, sizeBytes, name);
    } finally {
      await file.close();
    }
  }

  /** Downloads a snapshot into a new file of mode 0600. */
  async download(name: string, path: string): Promise<void> {
    const { files } = this.#deps;
    const call = { method: 'GET', key: keyOf(this.#config, name), doing: `fetching ${this.locationOf(name)}` } as const;
    const body = await s3Stream(this.#deps, this.#config, call);
    const file = await files.open(path, 'a', { mode: 0o600 });
    try {
      for await (const piece of body) await file.append(piece);
      await file.sync();
    } catch (error) {
      throw new PreflightError(`S3: ${call.doing}: ${errorMessage(error)}`);
    } finally {
      await file.close();
    }
  }

  async remove(name: string): Promise<void> {
    const doing = `removing ${this.locationOf(name)}`;
    await s3Request(this.#deps, this.#config, { method: 'DELETE', key: keyOf(this.#config, name), doing });
  }

  /** Removes the snapshots of a series beyond the newest `retention`; resolves to their names. */
  async prune(series: SnapshotSeries, retention: number): Promise<readonly string[]> {
    const limit = { retention, nowMs: this.#deps.clock.nowMs() };
    const excess = excessSnapshots(await this.list(), series, limit);
    for (const { name } of excess) await this.remove(name);
    return excess.map(({ name }) => name);
  }

  async #put(body: Uint8Array, name: string): Promise<void> {
    const call = {
      method: 'PUT',
      key: keyOf(this.#config, name),
      body,
      doing: `uploading ${this.locationOf(name)}`,
    } as const;
    await s3Request(this.#deps, this.#config, call);
  }

  async #putInParts(file: FileHandle, sizeBytes: number, name: string): Promise<void> {
    const target = { key: keyOf(this.#config, name), doing: `uploading ${this.locationOf(name)}` };
    const begun = await s3Request(this.#deps, this.#config, { ...target, method: 'POST', query: { uploads: '' } });
    const uploadId = readUploadId(begun.text);
    if (uploadId === undefined) throw new PreflightError(`S3: ${target.doing}: the answer names no upload`);
    try {
      const etags = await this.#putParts(file, sizeBytes, { ...target, uploadId });
      const body = Buffer.from(completeBody(etags));
      await s3Request(this.#deps, this.#config, { ...target, method: 'POST', query: { uploadId }, body });
    } catch (error) {
      await this.#giveUp(target, uploadId);
      throw error;
    }
  }

  /** Aborts an upload with a single short request, since the server may be stopping. */
  async #giveUp({ key, doing }: Pick<S3Call, 'key' | 'doing'>, uploadId: string): Promise<void> {
    const { signal, log } = this.#deps;
    const abort = { key, method: 'DELETE', query: { uploadId }, doing: `giving up ${doing}` } as const;
    const trying =
      signal?.aborted === true
        ? s3Request(
            { ...this.#deps, signal: undefined },
            { ...this.#config, timeoutMs: LAST_REQUEST_MS },
            { ...abort, tries: 1 },
          )
        : s3Request(this.#deps, this.#config, abort);
    await trying.catch((err: unknown) =>
      log.warn('an unfinished upload stays in the bucket', { reason: errorMessage(err) }),
    );
  }

  async #putParts(
    file: FileHandle,
    sizeBytes: number,
    { key, doing, uploadId }: { readonly key: string; readonly doing: string; readonly uploadId: string },
  ): Promise<readonly string[]> {
    const partBytes = Math.max(this.#partBytes, Math.ceil(sizeBytes / MAX_PARTS));
    const etags: string[] = [];
    for (let offset = 0; offset < sizeBytes; offset += partBytes) {
      const body = await readPart(file, offset, Math.min(partBytes, sizeBytes - offset));
      const query = { partNumber: String(etags.length + 1), uploadId };
      const { headers } = await s3Request(this.#deps, this.#config, { method: 'PUT', key, query, body, doing });
      const { etag } = headers;
      if (etag === undefined) throw new PreflightError(`S3: ${doing}: the answer to a part has no ETag`);
      etags.push(etag);
    }
    return etags;
  }
}

async function readPart(file: FileHandle, offset: number, length: number): Promise<Uint8Array> {
  const part = new Uint8Array(length);
  for (let at = 0; at < length;) {
    const piece = await file.read(offset + at, length - at);
    if (piece.byteLength === 0) throw new PreflightError('the snapshot became shorter while it was uploaded');
    part.set(piece, at);
    at += piece.byteLength;
  }
  return part;
}
