/**
 * Settles the bucket and the credentials: flags first, then the Secret, then a credentials file. They are read at
 * each use, so that a changed Secret or file takes effect at the next snapshot. Upstream: k3s's
 * `--etcd-s3-config-secret`.
 */
import { isReason } from '../../../api/status-error.ts';
import { Secrets } from '../../../api/gen/resources.ts';
import { parseDurationMs } from '../../../api/duration.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Client } from '../../../client/client.ts';
import type { Files } from '../../../platform/files.ts';
import { PreflightError } from '../../preflight-error.ts';
import {
  bucketProblem,
  endpointProblem,
  folderProblem,
  S3_DEFAULTS,
  type S3BucketLookup,
  type S3Config,
  type S3Credentials,
  type S3Options,
} from './s3-options.ts';

interface Deps {
  readonly files: Files;
  /** Reads the Secret; absent where no cluster is reachable. */
  readonly client: Client | undefined;
}

type SecretValues = Partial<Readonly<Record<string, string>>>;

/** Rejects with `PreflightError` that names the missing or invalid setting. */
export async function settleS3(deps: Deps, options: S3Options): Promise<S3Config> {
  const secret = options.configSecret === undefined ? {} : await readSecret(deps.client, options.configSecret);
  const bucket = options.bucket ?? secret['bucket'];
  if (bucket === undefined) throw new PreflightError('S3: no bucket is named (--s3-bucket)');
  const endpoint = options.endpoint ?? secret['endpoint'] ?? S3_DEFAULTS.endpoint;
  const folder = (options.folder ?? secret['folder'] ?? '').replace(/^\/+|\/+$/g, '');
  const problem = bucketProblem(bucket) ?? endpointProblem(endpoint) ?? folderProblem(folder);
  if (problem !== undefined) throw new PreflightError(`S3: ${problem}`);
  return {
    endpoint,
    region: options.region ?? secret['region'] ?? S3_DEFAULTS.region,
    bucket,
    folder,
    bucketLookup: options.bucketLookup ?? lookupOf(secret['bucket-lookup-type']),
    caPem: await authorities(deps, options, secret),
    skipSslVerify: options.skipSslVerify ?? secret['skip-ssl-verify'] === 'true',
    insecure: options.insecure ?? secret['insecure'] === 'true',
    credentials: await credentialsOf(deps, options, secret),
    timeoutMs: options.timeoutMs ?? timeoutOf(secret['timeout']),
  };
}

/** The Secret's values by k3s's keys without their prefix: `etcd-s3-bucket` and `s3-bucket` become `bucket`. */
async function readSecret(client: Client | undefined, name: string): Promise<SecretValues> {
  if (client === undefined) throw new PreflightError(`S3: the Secret ${name} can be read only while the cluster runs`);
  try {
    const { data = {} } = await client.resource(Secrets).get({ namespace: 'kube-system', name });
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [
        key.replace(/^(etcd-)?s3-/, ''),
        Buffer.from(String(value), 'base64').toString(),
      ]),
    );
  } catch (error) {
    const reason = isReason(error, 'NotFound') ? 'it is not there' : errorMessage(error);
    throw new PreflightError(`S3: the Secret kube-system/${name}: ${reason}`);
  }
}

async function authorities(
  { files }: Deps,
  { endpointCaFile }: S3Options,
  secret: SecretValues,
): Promise<string | undefined> {
  if (endpointCaFile === undefined) return secret['endpoint-ca'];
  return readNamed(files, endpointCaFile, '--s3-endpoint-ca');
}

async function credentialsOf({ files }: Deps, options: S3Options, secret: SecretValues): Promise<S3Credentials> {
  const { accessKey, secretKey, sessionToken, credentialsFile } = options;
  if (accessKey !== undefined && secretKey !== undefined)
    return { accessKeyId: accessKey, secretAccessKey: secretKey, sessionToken };
  const [accessKeyId, secretAccessKey] = [secret['access-key'], secret['secret-key']];
  if (accessKeyId !== undefined && secretAccessKey !== undefined)
    return { accessKeyId, secretAccessKey, sessionToken: secret['session-token'] };
  if (credentialsFile === undefined)
    throw new PreflightError(
      'S3: no credentials (--s3-credentials-file, --s3-access-key and --s3-secret-key, or a Secret)',
    );
  return readCredentials(await readNamed(files, credentialsFile, '--s3-credentials-file'), credentialsFile);
}

/** The first profile of an AWS credentials file. Throws `PreflightError`. */
export function readCredentials(text: string, path: string): S3Credentials {
  const values: Record<string, string> = {};
  let profiles = 0;
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (/^\[.*\]$/.test(line) && ++profiles > 1) break;
    const [, name, value] = /^(aws_[a-z_]+)\s*=\s*(\S+)$/.exec(line) ?? [];
    if (name !== undefined && value !== undefined) values[name] = value;
  }
  const { aws_access_key_id: accessKeyId, aws_secret_access_key: secretAccessKey } = values;
  if (accessKeyId === undefined || secretAccessKey === undefined)
    throw new PreflightError(`S3: ${path} has no aws_access_key_id and aws_secret_access_key`);
  return { accessKeyId, secretAccessKey, sessionToken: values['aws_session_token'] };
}

async function readNamed(files: Files, path: string, flag: string): Promise<string> {
  return files.readText(path).catch((error: unknown) => {
    throw new PreflightError(`${flag}: ${errorMessage(error)}`);
  });
}

function lookupOf(text: string | undefined): S3BucketLookup {
  return text === 'dns' || text === 'path' ? text : 'auto';
}

function timeoutOf(text: string | undefined): number {
  return (text === undefined ? undefined : parseDurationMs(text)) ?? S3_DEFAULTS.timeoutMs;
}
