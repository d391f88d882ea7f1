/** `--s3` and `--s3-*` of `up`, `server` and the snapshot commands: as k3s's `--etcd-s3-*`. */
import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { parseDurationMs } from '../../api/duration.ts';
import {
  bucketProblem,
  endpointProblem,
  folderProblem,
  type S3BucketLookup,
  type S3Options,
} from '../../cluster/snapshots/s3/s3-options.ts';
import { wrongUsage } from '../usage-error.ts';

/** Options before they are checked. */
export interface RawS3Options {
  readonly s3?: boolean;
  readonly s3Endpoint?: string;
  readonly s3EndpointCa?: string;
  readonly s3SkipSslVerify?: boolean;
  readonly s3Insecure?: boolean;
  readonly s3Region?: string;
  readonly s3Bucket?: string;
  readonly s3BucketLookupType?: S3BucketLookup;
  readonly s3Folder?: string;
  readonly s3AccessKey?: string;
  readonly s3SecretKey?: string;
  readonly s3SessionToken?: string;
  readonly s3CredentialsFile?: string;
  readonly s3ConfigSecret?: string;
  readonly s3Timeout?: string;
  readonly s3Retention?: string;
}

/** Secrets; they also come by AWS's variables, which may be there for others: without `--s3` they are no mistake. */
export const S3_SECRET_OPTIONS: readonly string[] = ['s3AccessKey', 's3SecretKey', 's3SessionToken'];

/** Adds the options. */
export function withS3Options(command: Command): Command {
  return command
    .option('--s3', 'keep snapshots in an S3 bucket, too')
    .option('--s3-endpoint <host>', 'host or host:port of S3 (default: s3.amazonaws.com)')
    .option('--s3-endpoint-ca <file>', "certificate authorities of the endpoint (default: the system's)")
    .option('--s3-skip-ssl-verify', "do not verify the endpoint's certificate")
    .option('--s3-insecure', 'HTTP instead of HTTPS')
    .option('--s3-region <region>', 'region (default: us-east-1)')
    .option('--s3-bucket <name>', 'bucket')
    .addOption(
      new Option('--s3-bucket-lookup-type <type>', 'the bucket in the name of the host, or in the path').choices([
        'auto',
        'dns',
        'path',
      ]),
    )
    .option('--s3-folder <folder>', 'folder in the bucket')
    .addOption(new Option('--s3-access-key <key>', 'access key; seen by who lists processes').env('AWS_ACCESS_KEY_ID'))
    .addOption(new Option('--s3-secret-key <key>', 'secret key; likewise').env('AWS_SECRET_ACCESS_KEY'))
    .addOption(new Option('--s3-session-token <token>', 'session token; likewise').env('AWS_SESSION_TOKEN'))
    .option('--s3-credentials-file <file>', 'access and secret key in the form of ~/.aws/credentials')
    .option('--s3-config-secret <name>', 'a Secret of kube-system that has what is not given')
    .option('--s3-timeout <duration>', 'how long one request may take (default: 5m)')
    .option('--s3-retention <n>', 'how many snapshots are kept in the bucket (default: as in the folder)');
}

/** Undefined without `--s3`. Throws `UserError` with exit code 2. */
export function parseS3Options(raw: RawS3Options): S3Options | undefined {
  if (raw.s3 !== true) {
    const misplaced = Object.entries(raw).find(([name, value]) => isOwn(name) && value !== undefined);
    if (misplaced !== undefined) throw wrongUsage(`${flagOf(misplaced[0])}: only with --s3`);
    return undefined;
  }
  if (raw.s3Bucket === undefined && raw.s3ConfigSecret === undefined)
    throw wrongUsage('--s3: --s3-bucket or --s3-config-secret is needed');
  if ((raw.s3AccessKey === undefined) !== (raw.s3SecretKey === undefined))
    throw wrongUsage('--s3-access-key and --s3-secret-key go together');
  check('--s3-bucket', raw.s3Bucket, bucketProblem);
  check('--s3-endpoint', raw.s3Endpoint, endpointProblem);
  const folder = raw.s3Folder?.replace(/^\/+|\/+$/g, '');
  check('--s3-folder', folder, folderProblem);
  return {
    endpoint: raw.s3Endpoint,
    region: raw.s3Region,
    bucket: raw.s3Bucket,
    folder,
    bucketLookup: raw.s3BucketLookupType,
    endpointCaFile: raw.s3EndpointCa && resolve(raw.s3EndpointCa),
    skipSslVerify: raw.s3SkipSslVerify,
    insecure: raw.s3Insecure,
    accessKey: raw.s3AccessKey,
    secretKey: raw.s3SecretKey,
    sessionToken: raw.s3SessionToken,
    credentialsFile: raw.s3CredentialsFile && resolve(raw.s3CredentialsFile),
    configSecret: raw.s3ConfigSecret,
    timeoutMs: parseTimeout(raw.s3Timeout),
    retention: parseCount(raw.s3Retention),
  };
}

function isOwn(name: string): boolean {
  return /^s3[A-Z]/.test(name) && !S3_SECRET_OPTIONS.includes(name);
}

/** `s3AccessKey` is `--s3-access-key`. */
export function flagOf(attribute: string): string {
  return `--${attribute.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

function check(flag: string, text: string | undefined, problemOf: (text: string) => string | undefined): void {
  const problem = text === undefined ? undefined : problemOf(text);
  if (problem !== undefined) throw wrongUsage(`${flag}: ${problem}`);
}

function parseTimeout(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const durationMs = parseDurationMs(text);
  if (durationMs === undefined || durationMs <= 0)
    throw wrongUsage(`--s3-timeout: ${text} is not a duration such as 5m`);
  return durationMs;
}

function parseCount(text: string | undefined): number | undefined {
  if (text !== undefined && !/^\d{1,5}$/.test(text))
    throw wrongUsage(`--s3-retention: ${text} is not a number from 0 on`);
  return text === undefined ? undefined : Number(text);
}
