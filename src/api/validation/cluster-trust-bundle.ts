// Validation of cluster trust bundles. Upstream: certificates/validation (ValidateClusterTrustBundle).
import { pemBlocks } from '../../base/pem.ts';
import type { Field } from '../field-error.ts';
import type { ClusterTrustBundle } from '../gen/certificates-v1beta1.ts';
import { validateSignerName } from './certificates.ts';
import { validateImmutable } from './common.ts';

/** A bundle's name must begin with its signer's name, with colons in place of slashes. */
export function validateClusterTrustBundle(bundle: ClusterTrustBundle, field: Field, old?: ClusterTrustBundle): void {
  const signer = bundle.spec?.signerName ?? '';
  const name = bundle.metadata.name ?? '';
  if (signer === '') {
    if (name.includes(':'))
      field
        .at('metadata')
        .at('name')
        .invalid(name, 'ClusterTrustBundle without signer name must not have ":" in its name');
  } else {
    const prefix = `${signer.replaceAll('/', ':')}:`;
    if (name !== '' && !name.startsWith(prefix))
      field
        .at('metadata')
        .at('name')
        .invalid(name, `ClusterTrustBundle for signerName ${signer} must be named with prefix ${prefix}`);
    validateSignerName(signer, field.at('spec').at('signerName'));
  }
  if (old !== undefined && old.spec?.trustBundle === bundle.spec?.trustBundle) return;
  validateTrustAnchors(bundle.spec?.trustBundle ?? '', field.at('spec').at('trustBundle'));
}

function validateTrustAnchors(pem: string, field: Field): void {
  const before = field.errors.length;
  const blocks = pemBlocks(pem);
  for (const [index, { type, hasHeaders }] of blocks.entries()) {
    if (type !== 'CERTIFICATE') field.invalid('<value omitted>', `entry ${index} has bad block type: ${type}`);
    else if (hasHeaders) field.invalid('<value omitted>', `entry ${index} has PEM block headers`);
  }
  if (field.errors.length === before && blocks.length === 0)
    field.invalid('<value omitted>', 'at least one trust anchor must be provided');
}

/** The signer of a bundle is immutable. */
export function validateClusterTrustBundleUpdate(
  bundle: ClusterTrustBundle,
  old: ClusterTrustBundle,
  field: Field,
): void {
  validateClusterTrustBundle(bundle, field, old);
  validateImmutable(bundle.spec?.signerName ?? '', old.spec?.signerName ?? '', field.at('spec').at('signerName'));
}
