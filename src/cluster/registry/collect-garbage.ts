/**
 * Removes unreferenced content: manifests without a tag, an index or an existing subject, a week after their push,
 * and blobs that no manifest references, an hour after they were stored.
 */
import type { Clock } from '../../platform/clock.ts';
import type { BlobStore } from './blob-store.ts';
import { tryDigest, type Digest } from './oci-names.ts';
import type { ManifestRecord, Repositories } from './repositories.ts';

/** A push stores blobs before the manifest that references them. */
const BLOB_GRACE_MS = 3_600_000;
const UNTAGGED_GRACE_MS = 7 * 86_400_000;

export interface CollectedCounts {
  readonly manifests: number;
  readonly blobs: number;
}

export async function collectGarbage(
  { repositories, blobs, clock }: { repositories: Repositories; blobs: BlobStore; clock: Clock },
  signal: AbortSignal,
): Promise<CollectedCounts> {
  const used = new Set<string>();
  let manifests = 0;
  const names = await repositories.names();
  for (const name of names) {
    if (signal.aborted) return { manifests, blobs: 0 };
    manifests += await repositories.exclusively(() => collectManifests(repositories, name, clock.nowMs(), used));
  }
  const removed = await repositories.exclusively(async () => {
    // Repositories may have been pushed to since they were read.
    for (const name of await repositories.names()) await addUsed(repositories, name, used);
    let count = 0;
    for (const { digest, mtimeMs } of await blobs.list()) {
      if (signal.aborted) break;
      if (used.has(digest.text) || clock.nowMs() - mtimeMs < BLOB_GRACE_MS) continue;
      await blobs.remove(digest);
      count++;
    }
    return count;
  });
  // Under the lock no manifest can be stored that references a blob removed here.
  for (const name of names) await repositories.exclusively(() => repositories.unlinkMissing(name));
  return { manifests, blobs: removed };
}

/** Adds every digest that the repository's manifests reference. */
async function addUsed(repositories: Repositories, name: string, used: Set<string>): Promise<void> {
  for (const digest of await repositories.manifests(name)) {
    used.add(digest.text);
    for (const reference of (await repositories.manifest(name, digest))?.references ?? []) used.add(reference);
  }
}

async function collectManifests(
  repositories: Repositories,
  name: string,
  nowMs: number,
  used: Set<string>,
): Promise<number> {
  const records = new Map<string, Pick<ManifestRecord, 'subject' | 'references'>>();
  for (const digest of await repositories.manifests(name)) {
    const record = await repositories.manifest(name, digest);
    // Without annotations, which may take megabytes.
    if (record !== undefined) records.set(digest.text, { subject: record.subject, references: record.references });
  }
  const kept = new Set<string>();
  for (const tag of await repositories.tags(name)) keep((await repositories.tagged(name, tag))?.text);
  for (const text of records.keys())
    if (nowMs - (await repositories.pushedAtMs(name, tryDigest(text)!)) < UNTAGGED_GRACE_MS) keep(text);
  // Referrers of a kept manifest are kept, and so are their referrers.
  for (let before = -1; before < kept.size;) {
    before = kept.size;
    for (const [text, { subject }] of records) if (subject !== undefined && kept.has(subject)) keep(text);
  }
  function keep(text: string | undefined): void {
    if (text === undefined || kept.has(text) || !records.has(text)) return;
    kept.add(text);
    for (const reference of records.get(text)!.references) keep(reference);
  }
  let removed = 0;
  for (const [text, record] of records) {
    if (kept.has(text)) continue;
    await repositories.removeManifest(name, tryDigest(text) as Digest, record);
    removed++;
  }
  await addUsed(repositories, name, used);
  return removed;
}
