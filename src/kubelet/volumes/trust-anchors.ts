/**
 * Certificates of cluster trust bundles, for projected volumes. Upstream: pkg/kubelet/clustertrustbundle.
 *
 * Each certificate once, in an order that does not depend on where they came from; comments and headers are left out.
 */
import type { ClusterTrustBundle } from '../../api/gen/certificates-v1beta1.ts';
import type { ClusterTrustBundleProjection } from '../../api/gen/core-v1.ts';
import { ClusterTrustBundles } from '../../api/gen/resources.ts';
import { compileLabelSelector } from '../../api/label-selector.ts';
import { isReason } from '../../api/status-error.ts';
import type { Client } from '../../client/client.ts';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** PEM text of what the projection selects, by name or by signer. Rejects when that is nothing and it is not optional. */
export async function trustAnchors(client: Client, projection: ClusterTrustBundleProjection): Promise<string> {
  const { name, signerName, optional = false } = projection;
  const bundles = name === undefined ? await bySigner(client, projection) : await byName(client, name);
  if (bundles.length === 0 && !optional)
    throw new Error(
      name === undefined
        ? `combination of signerName=${signerName ?? ''} and labelSelector matched zero ClusterTrustBundles`
        : `unable to fetch trust anchors: clustertrustbundle "${name}" not found`,
    );
  const texts = bundles.flatMap(({ spec }) => spec.trustBundle.match(CERTIFICATE) ?? []);
  return [...new Set(texts)]
    .sort()
    .map((text) => `${text}\n`)
    .join('');
}

async function byName(client: Client, name: string): Promise<readonly ClusterTrustBundle[]> {
  try {
    return [await client.resource(ClusterTrustBundles).get({ name })];
  } catch (error) {
    if (isReason(error, 'NotFound')) return [];
    throw error;
  }
}

/** No selector selects nothing, an empty one everything of the signer. */
async function bySigner(
  client: Client,
  { signerName = '', labelSelector }: ClusterTrustBundleProjection,
): Promise<readonly ClusterTrustBundle[]> {
  if (labelSelector === undefined) return [];
  const matcher = compileLabelSelector(labelSelector);
  const { items } = await client.resource(ClusterTrustBundles).list();
  return items.filter(({ metadata, spec }) => spec.signerName === signerName && matcher.matches(metadata.labels ?? {}));
}
