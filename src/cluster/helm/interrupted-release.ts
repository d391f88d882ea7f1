/**
 * Marks an interrupted release as failed, so that helm can change it again. Upstream: the plugin helm-set-status,
 * which k3s's job image has and helm lacks.
 */
import { gunzipSync, gzipSync } from 'node:zlib';
import { ConfigMaps, Secrets } from '../../api/gen/resources.ts';
import type { Client } from '../../client/client.ts';
import type { ReleaseRequest } from './release-request.ts';

/** The size limit of a release's JSON; large charts have a few MiB. */
const MAX_RELEASE_BYTES = 64 * 1024 * 1024;

/** The stored release with its status set to failed. `text`: base64 of gzip of JSON. */
export function failedRelease(text: string): string {
  const json = gunzipSync(Buffer.from(text, 'base64'), { maxOutputLength: MAX_RELEASE_BYTES }).toString();
  const release = JSON.parse(json) as { info?: object };
  const changed = { ...release, info: { ...release.info, status: 'failed' } };
  return gzipSync(JSON.stringify(changed)).toString('base64');
}

/** Sets the newest revision of the release to failed. */
export async function markFailed(client: Client, request: ReleaseRequest, signal: AbortSignal): Promise<void> {
  const { name, targetNamespace: namespace, spec } = request;
  const labelSelector = `owner=helm,name=${name}`;
  const isConfigMap = spec.driver === 'configmap';
  const stored = client.resource(isConfigMap ? ConfigMaps : Secrets);
  const { items } = await stored.list({ namespace, labelSelector, signal });
  const revision = (object: (typeof items)[number]): number => Number(object.metadata.labels?.['version'] ?? 0);
  const newest = items.toSorted((a, b) => revision(b) - revision(a))[0];
  const text = newest?.data?.['release'];
  if (newest === undefined || text === undefined) return;
  // A Secret's data has a second layer of base64.
  const release = isConfigMap
    ? failedRelease(text)
    : Buffer.from(failedRelease(Buffer.from(text, 'base64').toString())).toString('base64');
  const patch = {
    metadata: { labels: { status: 'failed' }, resourceVersion: newest.metadata.resourceVersion },
    data: { release },
  };
  await stored.patch({ namespace, name: newest.metadata.name }, { type: 'merge', patch }, { signal });
}
