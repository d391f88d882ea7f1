/** Where snapshots are kept in S3, and with which credentials. Upstream: k3s's `--etcd-s3-*`. */

/** The user's choices; absent ones come from the Secret or are the defaults. */
export interface S3Options {
  /** `host` or `host:port`. Default s3.amazonaws.com. */
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  readonly bucket?: string | undefined;
  /** The prefix of the snapshots' keys, without slashes at its ends. */
  readonly folder?: string | undefined;
  readonly bucketLookup?: S3BucketLookup | undefined;
  /** A file with the certificate authorities of the endpoint. */
  readonly endpointCaFile?: string | undefined;
  readonly skipSslVerify?: boolean | undefined;
  /** Uses HTTP without TLS. */
  readonly insecure?: boolean | undefined;
  readonly accessKey?: string | undefined;
  readonly secretKey?: string | undefined;
  readonly sessionToken?: string | undefined;
  /** A file in the form of `~/.aws/credentials`. */
  readonly credentialsFile?: string | undefined;
  /** The name of a Secret in kube-system. */
  readonly configSecret?: string | undefined;
  readonly timeoutMs?: number | undefined;
  /** How many snapshots are kept in the bucket; 0: all. Default: as many as in the folder. */
  readonly retention?: number | undefined;
}

/** `dns`: the bucket is part of the host name; `path`: part of the path; `auto`: as the endpoint expects it. */
export type S3BucketLookup = 'auto' | 'dns' | 'path';

export interface S3Config {
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  /** Empty, or a path such as `a/b`. */
  readonly folder: string;
  readonly bucketLookup: S3BucketLookup;
  readonly caPem?: string | undefined;
  readonly skipSslVerify: boolean;
  readonly insecure: boolean;
  readonly credentials: S3Credentials;
  /** The timeout of one request. */
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

/** The validation error of a bucket's name; undefined for a valid name. */
export function bucketProblem(text: string): string | undefined {
  return BUCKET.test(text)
    ? undefined
    : `${text} is no name of a bucket: 3 to 63 lower case letters, digits, '.' and '-'`;
}

/** The validation error of an endpoint; undefined for a valid one. */
export function endpointProblem(text: string): string | undefined {
  return ENDPOINT.test(text) ? undefined : `${text} is not host or host:port, without https://`;
}

/** The validation error of a folder; undefined for a valid one. */
export function folderProblem(text: string): string | undefined {
  const parts = text.split('/');
  const isPlain = parts.every((part) => /^[A-Za-z0-9!_.*'()=@ -]+$/.test(part) && part !== '.' && part !== '..');
  return text === '' || isPlain ? undefined : `${text} is no folder such as clusters/prod`;
}
