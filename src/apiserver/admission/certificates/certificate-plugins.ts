/**
 * CertificateApproval, CertificateSigning and ClusterTrustBundleAttest: approving, signing and attesting need a
 * permission for that signer. Upstream: plugin/pkg/admission/certificates/{approval,signing,ctbattest}.
 */
import type { CertificateSigningRequest } from '../../../api/gen/certificates-v1.ts';
import { equal } from '../../../api/patch/json-patch.ts';
import type { Authorizer } from '../../authz/contract.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../contract.ts';
import { isOn, refusal } from '../refusal.ts';
import { mayUseSigner } from './signer-authorization.ts';

const REQUESTS = { group: 'certificates.k8s.io', resource: 'certificatesigningrequests' };
const BUNDLES = { group: 'certificates.k8s.io', resource: 'clustertrustbundles' };

async function requireSignerRight(
  attributes: AdmissionAttributes,
  authorizer: Authorizer,
  { verb, signer, why }: { verb: string; signer: string; why: string },
): Promise<void> {
  if (await mayUseSigner(authorizer, attributes.context.user, { verb, signer })) return;
  throw refusal(attributes, `${why} ${JSON.stringify(signer)}`);
}

export function createCertificateApproval(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: 'CertificateApproval',
    handles: (operation, resource, subresource) =>
      operation === 'UPDATE' && isOn(resource, subresource, { ...REQUESTS, subresource: 'approval' }),
    validate(attributes) {
      const signer = (attributes.oldObject as CertificateSigningRequest).spec.signerName;
      return requireSignerRight(attributes, authorizer, {
        verb: 'approve',
        signer,
        why: 'user not permitted to approve requests with signerName',
      });
    },
  };
}

export function createCertificateSigning(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: 'CertificateSigning',
    handles: (operation, resource, subresource) =>
      operation === 'UPDATE' && isOn(resource, subresource, { ...REQUESTS, subresource: 'status' }),
    validate(attributes) {
      const { status, spec } = attributes.object as CertificateSigningRequest;
      const old = (attributes.oldObject as CertificateSigningRequest).status;
      const same = status?.certificate === old?.certificate && equal(status?.conditions ?? [], old?.conditions ?? []);
      if (same) return undefined;
      return requireSignerRight(attributes, authorizer, {
        verb: 'sign',
        signer: spec.signerName,
        why: 'user not permitted to sign requests with signerName',
      });
    },
  };
}

export function createClusterTrustBundleAttest(authorizer: Authorizer): AdmissionPlugin {
  const signerOf = (object: unknown): string => (object as { spec?: { signerName?: string } }).spec?.signerName ?? '';
  return {
    name: 'ClusterTrustBundleAttest',
    handles: (operation, resource, subresource) =>
      (operation === 'CREATE' || operation === 'UPDATE') && isOn(resource, subresource, BUNDLES),
    validate(attributes) {
      const { object, oldObject, operation } = attributes;
      const signer = signerOf(object);
      if (signer === '') return undefined;
      if (operation === 'UPDATE' && equal(withoutMetadata(object), withoutMetadata(oldObject))) return undefined;
      return requireSignerRight(attributes, authorizer, {
        verb: 'attest',
        signer,
        why: 'user not permitted to attest for signerName',
      });
    },
  };
}

/** Without what updates change by themselves. */
function withoutMetadata(object: object | undefined): unknown {
  const { metadata: _, ...rest } = (object ?? {}) as { metadata?: object };
  return rest;
}
