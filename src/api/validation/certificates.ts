/** Certificate signing requests and trust bundles. Upstream: apis/certificates/validation. */
import type { Field } from '../field-error.ts';
import type { CertificateSigningRequest, CertificateSigningRequestCondition } from '../gen/certificates-v1.ts';
import type { ClusterTrustBundle } from '../gen/certificates-v1beta1.ts';
import { quote } from '../../base/go-quote.ts';
import { isDns1123Label, isDns1123Subdomain } from '../names.ts';
import { validateImmutable } from './common.ts';

const USAGES = new Set([
  'signing',
  'digital signature',
  'content commitment',
  'key encipherment',
  'key agreement',
  'data encipherment',
  'cert sign',
  'crl sign',
  'encipher only',
  'decipher only',
  'any',
  'server auth',
  'client auth',
  'code signing',
  'email protection',
  's/mime',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'timestamping',
  'ocsp signing',
  'microsoft sgc',
  'netscape sgc',
]);

/** Text of the PEM block in base64. */
function decodePem(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8');
}

/** The name of a signer: a domain and a path. */
export function validateSignerName(name: string, field: Field): void {
  if (name === '') return field.required();
  const parts = name.split('/');
  const [domain = '', path = ''] = parts;
  if (parts.length !== 2)
    return field.invalid(name, "must be a fully qualified domain and path of the form 'example.com/signer-name'");
  if (Buffer.byteLength(domain) > longestDomain) field.tooLong(longestDomain);
  complainOfLabels(domain, isDns1123Label, field);
  if (!domain.includes('.')) field.invalid(domain, 'should be a domain with at least two segments separated by dots');
  complainOfLabels(path, isDns1123Subdomain, field);
  if (Buffer.byteLength(name) > longestSignerName) field.tooLong(longestSignerName);
}

const longestDomain = 253;
/** A domain, a slash, and the longest name of a resource with its namespace. */
const longestSignerName = 253 + 253 + 63 + 1 + 1;

/** What is wrong with the first bad part between dots. */
function complainOfLabels(text: string, check: (label: string) => string[], field: Field): void {
  const wrong = text.split('.').find((label) => check(label).length > 0);
  if (wrong === undefined) return;
  field.complain(
    text,
    check(wrong).map((problem) => `validating label ${quote(wrong)}: ${problem}`),
  );
}

export function validateCertificateSigningRequest(request: CertificateSigningRequest, field: Field): void {
  const spec = field.at('spec');
  if (
    !/-----BEGIN CERTIFICATE REQUEST-----[\s\S]+-----END CERTIFICATE REQUEST-----/.test(
      decodePem(request.spec?.request ?? ''),
    )
  ) {
    spec.at('request').invalid(request.spec?.request ?? '', 'PEM block type must be CERTIFICATE REQUEST');
  }
  const usages = request.spec?.usages ?? [];
  if (usages.length === 0) spec.at('usages').required();
  const seen = new Set<string>();
  for (const [index, usage] of usages.entries()) {
    if (!USAGES.has(usage))
      spec
        .at('usages')
        .item(index)
        .notSupported(usage, [...USAGES].toSorted());
    if (seen.has(usage)) spec.at('usages').item(index).duplicate(usage);
    seen.add(usage);
  }
  validateSignerName(request.spec?.signerName ?? '', spec.at('signerName'));
  if (request.spec?.signerName === 'kubernetes.io/legacy-unknown')
    spec.at('signerName').invalid(request.spec.signerName, 'the legacy signerName is not allowed via this API version');
  const seconds = request.spec?.expirationSeconds;
  if (seconds !== undefined && seconds < 600)
    spec.at('expirationSeconds').invalid(seconds, 'may not specify a duration less than 600 seconds (10 minutes)');
  validateConditions(request.status?.conditions ?? [], field.at('status').at('conditions'));
}

function validateConditions(conditions: readonly CertificateSigningRequestCondition[], field: Field): void {
  const seen = new Set<string>();
  for (const [index, condition] of conditions.entries()) {
    const place = field.item(index);
    if (condition.type === '') place.at('type').required();
    else if (seen.has(condition.type)) place.at('type').duplicate(condition.type);
    seen.add(condition.type);
    const verdict = ['Approved', 'Denied', 'Failed'].includes(condition.type);
    if (condition.status === '') place.at('status').required();
    else if (verdict && condition.status !== 'True') place.at('status').notSupported(condition.status, ['True']);
  }
  if (seen.has('Approved') && seen.has('Denied'))
    field.invalid('Denied', 'Approved and Denied conditions are mutually exclusive');
}

/** A request is never changed but for its status. */
export function validateCertificateSigningRequestUpdate(
  request: CertificateSigningRequest,
  old: CertificateSigningRequest,
  field: Field,
): void {
  validateImmutable(request.spec, old.spec, field.at('spec'));
}

function checkVerdicts(request: CertificateSigningRequest, old: CertificateSigningRequest, field: Field): void {
  const place = field.at('status').at('conditions');
  for (const type of ['Approved', 'Denied', 'Failed']) {
    const [now, before] = [request, old].map(
      (one) => (one.status?.conditions ?? []).filter((condition) => condition.type === type).length,
    );
    if (now! < before!) place.forbidden(`updates may not remove a condition of type "${type}"`);
  }
  validateConditions(request.status?.conditions ?? [], place);
}

/** `approval`: verdicts stay once given, the certificate is not touched. */
export function validateCertificateSigningRequestApproval(
  request: CertificateSigningRequest,
  old: CertificateSigningRequest,
  field: Field,
): void {
  checkVerdicts(request, old, field);
  if (request.status?.certificate !== old.status?.certificate)
    field.at('status').at('certificate').forbidden('updates may not set certificate content');
}

/** `status`: a certificate is set once. */
export function validateCertificateSigningRequestStatus(
  request: CertificateSigningRequest,
  old: CertificateSigningRequest,
  field: Field,
): void {
  checkVerdicts(request, old, field);
  const [now = '', before = ''] = [request.status?.certificate, old.status?.certificate];
  if (before !== '' && now !== before)
    field.at('status').at('certificate').forbidden('updates may not modify existing certificate content');
  else if (
    now !== '' &&
    now !== before &&
    !/-----BEGIN CERTIFICATE-----[\s\S]+-----END CERTIFICATE-----/.test(decodePem(now))
  ) {
    field.at('status').at('certificate').invalid('<certificate data>', 'must contain one or more PEM blocks');
  }
}

/** A trust bundle: its name starts with its signer, slashes as colons. */
export function validateClusterTrustBundle(bundle: ClusterTrustBundle, field: Field): void {
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
    if (!name.startsWith(prefix))
      field
        .at('metadata')
        .at('name')
        .invalid(name, `ClusterTrustBundle for signerName ${signer} must be named with prefix ${prefix}`);
    validateSignerName(signer, field.at('spec').at('signerName'));
  }
  if (!/-----BEGIN CERTIFICATE-----[\s\S]+-----END CERTIFICATE-----/.test(bundle.spec?.trustBundle ?? '')) {
    field.at('spec').at('trustBundle').invalid('<value omitted>', 'at least one trust anchor must be provided');
  }
}

/** The signer of a bundle never changes. */
export function validateClusterTrustBundleUpdate(
  bundle: ClusterTrustBundle,
  old: ClusterTrustBundle,
  field: Field,
): void {
  validateClusterTrustBundle(bundle, field);
  validateImmutable(bundle.spec?.signerName, old.spec?.signerName, field.at('spec').at('signerName'));
}
