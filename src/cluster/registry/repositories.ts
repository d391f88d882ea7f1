/**
 * Stores the content of each repository: blobs, manifests, tags and referrers, as small files by name. All names were
 * checked by oci-names.ts. Changes of manifests and garbage collection exclude each other, so that nothing is
 * collected that a new manifest is about to reference.
 */
import { hasErrorCode } from '../../base/errors.ts';
import type { Files } from '../../platform/files.ts';
import type { BlobStore } from './blob-store.ts';
import type { Manifest } from './manifest.ts';
import { MAX_REPOSITORY_LENGTH, tryDigest, type Digest } from './oci-names.ts';

/** The record stored beside a manifest's content. */
export interface ManifestRecord {
  readonly mediaType: string;
  readonly size: number;
  readonly subject?: string | undefined;
  readonly artifactType?: string | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  /** Digests of the blobs and manifests that the manifest references. */
  readonly references: readonly string[];
}

/** A manifest with the time at which its tag was pushed. */
export interface TaggedManifest {
  readonly digest: Digest;
  /** When the tag was pushed. */
  readonly taggedAtMs: number;
}

/** The most components that fit into the longest name. */
const MAX_DEPTH = Math.ceil(MAX_REPOSITORY_LENGTH / 2);

export class Repositories {
  readonly #files: Files;
  readonly #folder: string;
  readonly #blobs: BlobStore;
  #last: Promise<unknown> = Promise.resolve();

  constructor(files: Files, folder: string, blobs: BlobStore) {
    this.#files = files;
    this.#folder = `${folder}/repositories`;
    this.#blobs = blobs;
  }

  /** Creates the folder. */
  async open(): Promise<void> {
    await this.#files.makeDir(this.#folder, { mode: 0o700 });
  }

  /** Runs work on manifests and tags, one call after the other. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }

  async linkBlob(name: string, digest: Digest): Promise<void> {
    await this.#files.makeDir(`${this.#folder}/${name}/_layers`, { mode: 0o700 });
    await this.#files.writeFileAtomic(this.#layer(name, digest), '', { mode: 0o600 });
  }

  /** The size of a blob in the repository. */
  async blobSize(name: string, digest: Digest): Promise<number | undefined> {
    if (!(await this.#files.exists(this.#layer(name, digest)))) return undefined;
    return await this.#blobs.size(digest);
  }

  /** Removes a blob from the repository; its content is left to garbage collection. False for an unknown blob. */
  async unlinkBlob(name: string, digest: Digest): Promise<boolean> {
    const isThere = (await this.blobSize(name, digest)) !== undefined;
    await this.#files.remove(this.#layer(name, digest));
    return isThere;
  }

  async manifest(name: string, digest: Digest): Promise<ManifestRecord | undefined> {
    const text = await this.#readText(this.#record(name, digest));
    return text === undefined ? undefined : (JSON.parse(text) as ManifestRecord);
  }

  async putManifest(name: string, digest: Digest, content: Uint8Array, manifest: Manifest): Promise<void> {
    const record: ManifestRecord = {
      mediaType: manifest.mediaType,
      size: content.length,
      subject: manifest.subject?.text,
      artifactType: manifest.artifactType,
      annotations: manifest.annotations,
      references: [...new Set([...manifest.blobs, ...manifest.manifests].map(({ text }) => text))],
    };
    await this.#blobs.write(content, digest);
    if (manifest.subject !== undefined) {
      const folder = this.#referrersFolder(name, manifest.subject);
      await this.#files.makeDir(folder, { mode: 0o700 });
      await this.#files.writeFileAtomic(`${folder}/${fileOf(digest)}`, '', { mode: 0o600 });
    }
    await this.#files.makeDir(`${this.#folder}/${name}/_manifests`, { mode: 0o700 });
    await this.#files.writeFileAtomic(this.#record(name, digest), JSON.stringify(record), { mode: 0o600 });
  }

  /** Removes a manifest with the tags that refer to it. */
  async removeManifest(name: string, digest: Digest, { subject }: Pick<ManifestRecord, 'subject'>): Promise<void> {
    for (const tag of await this.tags(name))
      if ((await this.tagged(name, tag))?.text === digest.text) await this.removeTag(name, tag);
    const subjectDigest = tryDigest(subject ?? '');
    if (subjectDigest !== undefined)
      await this.#files.remove(`${this.#referrersFolder(name, subjectDigest)}/${fileOf(digest)}`);
    await this.#files.remove(this.#record(name, digest));
  }

  async manifests(name: string): Promise<Digest[]> {
    return (await this.#readDir(`${this.#folder}/${name}/_manifests`)).flatMap((file) => digestOfFile(file) ?? []);
  }

  /** The time of the manifest's last push. */
  async pushedAtMs(name: string, digest: Digest): Promise<number> {
    return (await this.#files.stat(this.#record(name, digest))).mtimeMs;
  }

  /** Sorted by digest text. */
  async referrers(name: string, subject: Digest): Promise<Digest[]> {
    return (await this.#readDir(this.#referrersFolder(name, subject))).flatMap((file) => digestOfFile(file) ?? []);
  }

  async tag(name: string, tag: string, digest: Digest): Promise<void> {
    await this.#files.makeDir(`${this.#folder}/${name}/_tags`, { mode: 0o700 });
    await this.#files.writeFileAtomic(this.#tag(name, tag), digest.text, { mode: 0o600 });
  }

  async tagged(name: string, tag: string): Promise<Digest | undefined> {
    return tryDigest((await this.#readText(this.#tag(name, tag))) ?? '');
  }

  async taggedAt(name: string, tag: string): Promise<TaggedManifest | undefined> {
    const digest = await this.tagged(name, tag);
    const stat = digest && (await this.#files.stat(this.#tag(name, tag)).catch(ignoreAbsent));
    return digest && stat && { digest, taggedAtMs: stat.mtimeMs };
  }

  async removeTag(name: string, tag: string): Promise<void> {
    await this.#files.remove(this.#tag(name, tag));
  }

  /** Sorted by bytes. Files being written have names that begin with a dot, which no tag does. */
  async tags(name: string): Promise<string[]> {
    const found = (await this.#readDir(`${this.#folder}/${name}/_tags`)).filter((tag) => !tag.startsWith('.'));
    return found.sort((a, b) => (a < b ? -1 : 1));
  }

  exists(name: string): Promise<boolean> {
    return this.#files.exists(`${this.#folder}/${name}/_manifests`);
  }

  /** The names of all repositories, sorted. */
  async names(): Promise<string[]> {
    const found: string[] = [];
    const walk = async (name: string, depth: number): Promise<void> => {
      const entries = await this.#readDir(name === '' ? this.#folder : `${this.#folder}/${name}`);
      if (entries.includes('_manifests') || entries.includes('_layers')) found.push(name);
      if (depth >= MAX_DEPTH) return;
      for (const entry of entries)
        if (!entry.startsWith('_')) await walk(name === '' ? entry : `${name}/${entry}`, depth + 1);
    };
    await walk('', 0);
    return found.sort((a, b) => (a < b ? -1 : 1));
  }

  /** Removes blobs from the repository whose content was deleted. */
  async unlinkMissing(name: string): Promise<void> {
    for (const digest of await this.#layers(name))
      if ((await this.#blobs.size(digest)) === undefined) await this.unlinkBlob(name, digest);
  }

  async #layers(name: string): Promise<Digest[]> {
    return (await this.#readDir(`${this.#folder}/${name}/_layers`)).flatMap((file) => digestOfFile(file) ?? []);
  }

  #layer(name: string, digest: Digest): string {
    return `${this.#folder}/${name}/_layers/${fileOf(digest)}`;
  }

  #record(name: string, digest: Digest): string {
    return `${this.#folder}/${name}/_manifests/${fileOf(digest)}`;
  }

  #tag(name: string, tag: string): string {
    return `${this.#folder}/${name}/_tags/${tag}`;
  }

  #referrersFolder(name: string, subject: Digest): string {
    return `${this.#folder}/${name}/_referrers/${fileOf(subject)}`;
  }

  async #readText(path: string): Promise<string | undefined> {
    return await this.#files.readText(path).catch(ignoreAbsent);
  }

  async #readDir(path: string): Promise<readonly string[]> {
    return (await this.#files.readDir(path).catch(ignoreAbsent)) ?? [];
  }
}

function ignoreAbsent(error: unknown): undefined {
  if (!hasErrorCode(error, 'ENOENT', 'ENOTDIR')) throw error;
}

function fileOf({ algorithm, hex }: Digest): string {
  return `${algorithm}-${hex}`;
}

function digestOfFile(file: string): Digest | undefined {
  return tryDigest(file.replace('-', ':'));
}
