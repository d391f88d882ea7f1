/** URLs of buckets and keys, in path and virtual-host style. Pure. Upstream: minio-go's bucket lookup, which k3s uses. */
import type { S3Config } from './s3-options.ts';

type BucketAddress = Pick<S3Config, 'endpoint' | 'bucket' | 'bucketLookup' | 'insecure'>;

/** Endpoints that expect the bucket in the host name. */
const VIRTUAL_HOSTS = /(^|\.)(amazonaws\.com(\.cn)?|storage\.googleapis\.com|aliyuncs\.com)(:\d+)?$/;

/** The URL of a key; '' gives the bucket's URL. */
export function s3Url(place: BucketAddress, key: string, query: Readonly<Record<string, string>> = {}): string {
  const { endpoint, bucket, insecure } = place;
  const scheme = insecure ? 'http' : 'https';
  const path = key.split('/').map(encodePart).join('/');
  const base = isVirtualHost(place)
    ? `${scheme}://${bucket}.${endpoint}/${path}`
    : `${scheme}://${endpoint}/${bucket}/${path}`;
  const parameters = Object.entries(query).map(([name, value]) => `${encodePart(name)}=${encodePart(value)}`);
  return parameters.length === 0 ? base : `${base}?${parameters.join('&')}`;
}

/** The key of a snapshot in the bucket. */
export function keyOf({ folder }: Pick<S3Config, 'folder'>, name: string): string {
  return folder === '' ? name : `${folder}/${name}`;
}

/** `s3://bucket/folder/name`. */
export function locationOf(config: Pick<S3Config, 'bucket' | 'folder'>, name: string): string {
  return `s3://${config.bucket}/${keyOf(config, name)}`;
}

/** Buckets with dots in their names go into the path: they match no wildcard certificate. */
function isVirtualHost({ endpoint, bucket, bucketLookup, insecure }: BucketAddress): boolean {
  if (bucketLookup !== 'auto') return bucketLookup === 'dns';
  return VIRTUAL_HOSTS.test(endpoint) && (insecure || !bucket.includes('.'));
}

/** Percent-encodes as SigV4 requires, which is more than encodeURIComponent does. */
function encodePart(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
}
