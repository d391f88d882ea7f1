/** The bucket of snapshots, for commands with `--s3`. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { S3Bucket } from '../../cluster/snapshots/s3/s3-bucket.ts';
import { withPlatform } from '../run-once.ts';
import { UserError } from '../usage-error.ts';
import { parseS3Options, type RawS3Options } from './s3-options.ts';

type RawBucket = RawS3Options & { readonly dataDir: string };

/** Does the work with the bucket; resolves to undefined without `--s3`. */
export async function withBucket<T>(raw: RawBucket, work: (bucket: S3Bucket) => Promise<T>): Promise<T | undefined> {
  const options = parseS3Options(raw);
  if (options === undefined) return undefined;
  const { openS3 } = await import('../../cluster/snapshots/s3/open-s3.ts');
  const kube = options.configSecret === undefined ? undefined : await clientOf(raw);
  try {
    return await withPlatform(async (platform) => work(await openS3({ ...platform, client: kube?.client }, options)));
  } finally {
    kube?.close();
  }
}

/** Does the work with the file, which `--s3` fetches by its name into a folder of its own. */
export async function withSnapshotFile(
  raw: RawBucket,
  name: string,
  work: (path: string) => Promise<void>,
): Promise<void> {
  const fetched = await withBucket(raw, async (bucket) => {
    if (name.includes('/')) throw new UserError(`with --s3 give the name of a snapshot, not a path: ${name}`, 2);
    const folder = await mkdtemp(join(tmpdir(), 'keelson-fetched-'));
    try {
      await bucket.download(name, join(folder, name));
      await work(join(folder, name));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
    return true;
  });
  if (fetched !== true) await work(resolve(name));
}

async function clientOf({ dataDir }: RawBucket) {
  const { openKubeClient } = await import('../kube-client.ts');
  return openKubeClient(
    { dataDir: resolve(dataDir), kubeconfig: `${resolve(dataDir)}/admin.kubeconfig` },
    'keelson-snapshot',
  );
}
