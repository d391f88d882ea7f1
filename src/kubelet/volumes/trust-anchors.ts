/**
 * Certificates of ClusterTrustBundles, for projected volumes. Upstream: pkg/kubelet/clustertrustbundle.
 *
 * Each certificate is written once, in an order that does not depend on its source; comments and headers are removed.
 */
import type { ClusterTrustBundle } from '../../api/gen/certificates-v1beta1.ts';
import type { ClusterTrustBundleProjection } from '../../api/gen/core-v1.ts';
import { ClusterTrustBundles } from '../../api/gen/resources.ts';
import { compileLabelSelector } from '../../api/label-selector.ts';
import { isReason } from '../../api/status-error.ts';
import type { Client } from '../../client/client.ts';

const BEGIN = '-----BEGIN CERTIFICATE-----';
const END = '-----END CERTIFICATE-----';

/**
 * PEM text of the bundles that the projection selects, by name or by signer. Rejects when there are none and it is
 * not optional.
 */
export async function trustAnchors(client: Client, projection: ClusterTrustBundleProjection): Promise<string> {
  const { name, signerName, optional = false } = projection;
  const bundles = name === undefined ? await bySigner(client, projection) : await byName(client, name);
  if (bundles.length === 0 && !optional)
    throw new Error(
      name === undefined
        ? `combination of signerName=${signerName ?? ''} and labelSelector matched zero ClusterTrustBundles`
        : `unable to fetch trust anchors: clustertrustbundle "${name}" not found`,
    );
  const texts = bundles.flatMap(({ spec }) => [...certificatesIn(spec.trustBundle)]);
  return [...new Set(texts)]
    .sort()
    .map((text) => `${text}\n`)
    .join('');
}

/** Each part of the text is read once, however many lines begin a certificate that never ends. */
function* certificatesIn(text: string): Generator<string> {
  for (let at = text.indexOf(BEGIN); at >= 0; at = text.indexOf(BEGIN, at)) {
    const end = text.indexOf(END, at);
    if (end < 0) return;
    yield text.slice(at, end + END.length);
    at = end + END.length;
  }
}

async function byName(client: Client, name: string): Promise<readonly ClusterTrustBundle[]> {
  try {
    return [await client.resource(ClusterTrustBundles).get({ name })];
  } catch (error) {
    if (isReason(error, 'NotFound')) return [];
    throw error;
  }
}

/** The bundles of a signer. No selector selects nothing, an empty one all bundles. */
async function bySigner(
  client: Client,
  { signerName = '', labelSelector }: ClusterTrustBundleProjection,
): Promise<readonly ClusterTrustBundle[]> {
  if (labelSelector === undefined) return [];
  const matcher = compileLabelSelector(labelSelector);
  const { items } = await client.resource(ClusterTrustBundles).list();
  return items.filter(({ metadata, spec }) => spec.signerName === signerName && matcher.matches(metadata.labels ?? {}));
}
