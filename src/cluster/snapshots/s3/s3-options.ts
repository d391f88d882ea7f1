/** Where in S3 snapshots are kept, and by whose right. Upstream: k3s's `--etcd-s3-*`. */

/** What the user chose; what is absent comes from the Secret, or is the default. */
export interface S3Options {
  /** `host` or `host:port`. Default s3.amazonaws.com. */
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  readonly bucket?: string | undefined;
  /** Before the names of snapshots, without slashes at its ends. */
  readonly folder?: string | undefined;
  readonly bucketLookup?: S3BucketLookup | undefined;
  /** File of the endpoint's authorities. */
  readonly endpointCaFile?: string | undefined;
  readonly skipSslVerify?: boolean | undefined;
  /** HTTP without TLS. */
  readonly insecure?: boolean | undefined;
  readonly accessKey?: string | undefined;
  readonly secretKey?: string | undefined;
  readonly sessionToken?: string | undefined;
  /** In the form of `~/.aws/credentials`. */
  readonly credentialsFile?: string | undefined;
  /** A Secret of kube-system. */
  readonly configSecret?: string | undefined;
  readonly timeoutMs?: number | undefined;
  /** How many snapshots are kept in the bucket; 0: all. Default: as many as in the folder. */
  readonly retention?: number | undefined;
}

/** `dns`: the bucket in the host's name; `path`: in the path; `auto`: as the endpoint wants it. */
export type S3BucketLookup = 'auto' | 'dns' | 'path';

/** Settled, with everything that is needed. */
export interface S3Config {
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  /** '' or `a/b`. */
  readonly folder: string;
  readonly bucketLookup: S3BucketLookup;
  readonly caPem?: string | undefined;
  readonly skipSslVerify: boolean;
  readonly insecure: boolean;
  readonly credentials: S3Credentials;
  /** For one request. */
  readonly timeoutMs: number;
}

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

export const S3_DEFAULTS = { endpoint: 's3.amazonaws.com', region: 'us-east-1', timeoutMs: 300_000 } as const;

const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const ENDPOINT = /^(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)(:\d{1,5})?$/;

/** What is wrong with a bucket's name, or undefined. */
export function bucketProblem(text: string): string | undefined {
  return BUCKET.test(text)
    ? undefined
    : `${text} is no name of a bucket: 3 to 63 lower case letters, digits, '.' and '-'`;
}

/** What is wrong with an endpoint, or undefined. */
export function endpointProblem(text: string): string | undefined {
  return ENDPOINT.test(text) ? undefined : `${text} is not host or host:port, without https://`;
}

/** What is wrong with a folder, or undefined. */
export function folderProblem(text: string): string | undefined {
  const parts = text.split('/');
  const isPlain = parts.every((part) => /^[A-Za-z0-9!_.*'()=@ -]+$/.test(part) && part !== '.' && part !== '..');
  return text === '' || isPlain ? undefined : `${text} is no folder such as clusters/prod`;
}
