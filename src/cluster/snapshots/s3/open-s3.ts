/** Opens the bucket that options name. */
import type { Client } from '../../../client/client.ts';
import type { Files } from '../../../platform/files.ts';
import { S3Bucket } from './s3-bucket.ts';
import { settleS3 } from './s3-config.ts';
import type { S3Options } from './s3-options.ts';
import type { S3Deps } from './s3-request.ts';

/** Rejects with `PreflightError` when a setting is missing. Sends nothing but the request for the Secret. */
export async function openS3(
  deps: S3Deps & { readonly files: Files; readonly client: Client | undefined },
  options: S3Options,
): Promise<S3Bucket> {
  return new S3Bucket(deps, await settleS3(deps, options));
}
