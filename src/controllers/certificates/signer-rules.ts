/**
 * The requests that each built-in signer accepts. Pure. Upstream: apis/certificates/v1/helpers.go,
 * certificates/signer.
 */
import { isConditionTrue } from '../../component-helpers/conditions.ts';
import type { CertificateSigningRequest } from '../../api/gen/certificates-v1.ts';
import { isHeaderValue } from '../../base/header-text.ts';
import type { ParsedRequest } from '../../component-helpers/pki/certificates.ts';
import type { ReservedNames } from './reserved-names.ts';

/** The signers of this controller manager. */
export const KUBELET_CLIENT = 'kubernetes.io/kube-apiserver-client-kubelet';
export const KUBELET_SERVING = 'kubernetes.io/kubelet-serving';
const API_CLIENT = 'kubernetes.io/kube-apiserver-client';
const LEGACY_UNKNOWN = 'kubernetes.io/legacy-unknown';
export const BUILT_IN_SIGNERS: readonly string[] = [KUBELET_CLIENT, KUBELET_SERVING, API_CLIENT, LEGACY_UNKNOWN];

/** The prefix of the common name in a node's certificate. */
export const NODE_PREFIX = 'system:node:';
const KEY_USAGES = ['digital signature', 'key encipherment'];

/** Why the signer refuses, in upstream's words; undefined when it signs. */
export function signerProblem(
  csr: CertificateSigningRequest,
  request: ParsedRequest,
  reserved: ReservedNames,
): string | undefined {
  const { signerName, usages = [] } = csr.spec;
  if (!everyName(request).every(isHeaderValue)) return 'names with control characters are not allowed';
  switch (signerName) {
    case KUBELET_CLIENT:
      return (
        kubeletProblem(request, usages, 'client auth') ?? clientNamesProblem(request) ?? nodeProblem(request, reserved)
      );
    case KUBELET_SERVING:
      return (
        kubeletProblem(request, usages, 'server auth') ??
        servingNamesProblem(request) ??
        nodeProblem(request, reserved) ??
        reservedProblem(request, reserved)
      );
    case API_CLIENT:
      return clientProblem(usages);
    default:
      return undefined;
  }
}

function everyName(request: ParsedRequest): readonly string[] {
  const { commonName, organizations, dnsNames, ipAddresses, emailAddresses, uris } = request;
  return [commonName, ...organizations, ...dnsNames, ...ipAddresses, ...emailAddresses, ...uris];
}

function nodeProblem({ commonName }: ParsedRequest, reserved: ReservedNames): string | undefined {
  return reserved.nodeNameProblem(commonName.slice(NODE_PREFIX.length));
}

function reservedProblem({ dnsNames, ipAddresses }: ParsedRequest, reserved: ReservedNames): string | undefined {
  const taken = dnsNames.find(reserved.hasDnsName) ?? ipAddresses.find(reserved.hasAddress);
  return taken === undefined ? undefined : `${taken} belongs to the cluster itself, no kubelet may serve under it`;
}

function kubeletProblem(request: ParsedRequest, usages: readonly string[], needed: string): string | undefined {
  if (request.organizations.length !== 1 || request.organizations[0] !== 'system:nodes')
    return 'subject organization is not system:nodes';
  if (!request.commonName.startsWith(NODE_PREFIX)) return 'subject common name does not begin with system:node:';
  const allowed = [...KEY_USAGES, needed];
  if (
    !usages.includes('digital signature') ||
    !usages.includes(needed) ||
    usages.some((usage) => !allowed.includes(usage))
  )
    return `usages did not match [digital signature, key encherment (optional), ${needed}]`;
  return undefined;
}

function clientNamesProblem({ dnsNames, emailAddresses, ipAddresses, uris }: ParsedRequest): string | undefined {
  if (dnsNames.length > 0) return 'DNS subjectAltNames are not allowed';
  if (emailAddresses.length > 0) return 'Email subjectAltNames are not allowed';
  if (ipAddresses.length > 0) return 'IP subjectAltNames are not allowed';
  return uris.length > 0 ? 'URI subjectAltNames are not allowed' : undefined;
}

function servingNamesProblem({ dnsNames, emailAddresses, ipAddresses, uris }: ParsedRequest): string | undefined {
  if (dnsNames.length + ipAddresses.length === 0) return 'DNS or IP subjectAltName is required';
  if (emailAddresses.length > 0) return 'Email subjectAltNames are not allowed';
  return uris.length > 0 ? 'URI subjectAltNames are not allowed' : undefined;
}

function clientProblem(usages: readonly string[]): string | undefined {
  const allowed = [...KEY_USAGES, 'client auth'];
  if (!usages.includes('client auth') || usages.some((usage) => !allowed.includes(usage)))
    return 'invalid usages for client certificate: only digital signature, key encipherment and client auth are allowed, and client auth is required';
  return undefined;
}

export function extendedUsages({ spec }: CertificateSigningRequest): ('server' | 'client')[] {
  const usages: ('server' | 'client')[] = [];
  if (spec.usages?.includes('server auth') === true) usages.push('server');
  if (spec.usages?.includes('client auth') === true) usages.push('client');
  return usages;
}

/** Whether the request is neither approved nor denied and has no certificate. */
export function isPending(csr: CertificateSigningRequest): boolean {
  return (csr.status?.certificate ?? '') === '' && !isConditionTrue(csr, 'Approved') && !isConditionTrue(csr, 'Denied');
}

/** Whether the request is approved and not denied. */
export function isApproved(csr: CertificateSigningRequest): boolean {
  return isConditionTrue(csr, 'Approved') && !isConditionTrue(csr, 'Denied');
}
