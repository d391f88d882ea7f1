/** Validation of certificate signing requests and trust bundles. Upstream: apis/certificates/validation. */
import { quote } from '../../base/go-quote.ts';
import { pemBlocks } from '../../base/pem.ts';
import type { Field } from '../field-error.ts';
import type { CertificateSigningRequest, CertificateSigningRequestCondition } from '../gen/certificates-v1.ts';
import { isDns1123Label, isDns1123Subdomain } from '../names.ts';
import { requestProblem } from './certificate-request.ts';

const USAGES = [
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
].toSorted();

function decodeBase64(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8');
}

/** Validates a signer's name: a domain and a path. */
export function validateSignerName(name: string, field: Field): void {
  if (name === '') return field.required();
  const parts = name.split('/');
  const [domain = '', path = ''] = parts;
  if (parts.length !== 2)
    return field.invalid(name, "must be a fully qualified domain and path of the form 'example.com/signer-name'");
  if (Buffer.byteLength(domain) > LONGEST_DOMAIN) field.tooLong(LONGEST_DOMAIN);
  complainOfLabels(domain, isDns1123Label, field);
  if (!domain.includes('.')) field.invalid(domain, 'should be a domain with at least two segments separated by dots');
  complainOfLabels(path, isDns1123Subdomain, field);
  if (Buffer.byteLength(name) > LONGEST_SIGNER_NAME) field.tooLong(LONGEST_SIGNER_NAME);
}

const LONGEST_DOMAIN = 253;
/** A domain, a slash, and the longest namespace and name of a resource. */
const LONGEST_SIGNER_NAME = 253 + 253 + 63 + 1 + 1;

/** Adds the errors of the first invalid part between dots. */
function complainOfLabels(text: string, check: (label: string) => string[], field: Field): void {
  const wrong = text.split('.').find((label) => check(label).length > 0);
  if (wrong === undefined) return;
  field.complain(
    text,
    check(wrong).map((problem) => `validating label ${quote(wrong)}: ${problem}`),
  );
}

const VERDICTS = ['Approved', 'Denied', 'Failed'] as const;
/** The default signer of the beta version; the stable version refuses this name. */
const LEGACY_SIGNER = 'kubernetes.io/legacy-unknown';
const SHORTEST_SECONDS = 600;

/** The conditions that a sub-resource may change. */
interface StatusRights {
  readonly verdict?: boolean;
  readonly certificate?: boolean;
}

type Conditions = readonly CertificateSigningRequestCondition[];

function conditionsOf(request: CertificateSigningRequest | undefined): Conditions {
  return request?.status?.conditions ?? [];
}

function ofType(request: CertificateSigningRequest, type: string): Conditions {
  return conditionsOf(request).filter((condition) => condition.type === type);
}

function hasRepeated(texts: readonly string[]): boolean {
  return new Set(texts).size < texts.length;
}

function validateUsages(usages: readonly string[], before: readonly string[], field: Field): void {
  if (usages.length === 0) field.required();
  if (before.every((usage) => USAGES.includes(usage)))
    for (const [index, usage] of usages.entries())
      if (!USAGES.includes(usage)) field.item(index).notSupported(usage, USAGES);
  if (hasRepeated(before)) return;
  const seen = new Set<string>();
  for (const [index, usage] of usages.entries()) {
    if (seen.has(usage)) field.item(index).duplicate(usage);
    seen.add(usage);
  }
}

function validateStatusOf({ type = '', status = '' }: CertificateSigningRequestCondition, field: Field): void {
  const allowed = (VERDICTS as readonly string[]).includes(type) ? ['True'] : ['False', 'True', 'Unknown'];
  if (status === '') field.required();
  else if (!allowed.includes(status)) field.notSupported(status, allowed);
}

/** Conditions that were invalid before the update may stay. */
function validateConditions(conditions: Conditions, before: Conditions, field: Field): void {
  const had = new Set(before.map(({ type }) => type ?? ''));
  const mayHaveBoth = had.has('Approved') && had.has('Denied');
  const mayRepeat = had.size < before.length;
  const seen = new Set<string>();
  for (const [index, condition] of conditions.entries()) {
    const { type = '' } = condition;
    const place = field.item(index);
    if (type === '' && !had.has('')) place.at('type').required();
    validateStatusOf(condition, place.at('status'));
    const other = type === 'Approved' ? 'Denied' : type === 'Denied' ? 'Approved' : undefined;
    if (other !== undefined && seen.has(other) && !mayHaveBoth)
      field.invalid(type, 'Approved and Denied conditions are mutually exclusive');
    if (seen.has(type) && !mayRepeat) place.at('type').duplicate(type);
    seen.add(type);
  }
}

/** The error of a certificate chain; undefined for a valid one. */
function chainProblem(base64: string): string | undefined {
  if (base64 === '') return undefined;
  const blocks = pemBlocks(decodeBase64(base64));
  const wrong = blocks.find(({ type, hasHeaders }) => type !== 'CERTIFICATE' || hasHeaders);
  if (wrong?.type === 'CERTIFICATE') return 'no PEM block headers are permitted';
  if (wrong !== undefined) return `only CERTIFICATE PEM blocks are allowed, found ${quote(wrong.type)}`;
  return blocks.length === 0 ? 'must contain at least one CERTIFICATE PEM block' : undefined;
}

/** `old`: the object before an update. */
export function validateCertificateSigningRequest(
  request: CertificateSigningRequest,
  field: Field,
  old?: CertificateSigningRequest,
): void {
  const { request: pem = '', usages = [], signerName = '', expirationSeconds } = request.spec ?? {};
  const spec = field.at('spec');
  const wrong = requestProblem(decodeBase64(pem));
  if (wrong !== undefined) spec.at('request').invalid(pem, wrong);
  validateUsages(usages, old?.spec?.usages ?? [], spec.at('usages'));
  if (signerName === LEGACY_SIGNER && old?.spec?.signerName !== LEGACY_SIGNER)
    spec.at('signerName').invalid(signerName, 'the legacy signerName is not allowed via this API version');
  else validateSignerName(signerName, spec.at('signerName'));
  if (expirationSeconds !== undefined && expirationSeconds < SHORTEST_SECONDS)
    spec
      .at('expirationSeconds')
      .invalid(expirationSeconds, 'may not specify a duration less than 600 seconds (10 minutes)');
  const status = field.at('status');
  validateConditions(conditionsOf(request), conditionsOf(old), status.at('conditions'));
  const [now = '', before = ''] = [request.status?.certificate, old?.status?.certificate];
  const problem = chainProblem(now);
  if (problem !== undefined && (old === undefined || (now !== before && chainProblem(before) === undefined)))
    status.at('certificate').invalid('<certificate data>', problem);
}

/** Only the status of a request may change, and only through the sub-resources that may change it. */
function validateUpdate(
  [request, old]: readonly [CertificateSigningRequest, CertificateSigningRequest],
  rights: StatusRights,
  field: Field,
): void {
  validateCertificateSigningRequest(request, field, old);
  const conditions = field.at('status').at('conditions');
  for (const type of VERDICTS)
    if (ofType(request, type).length < ofType(old, type).length)
      conditions.forbidden(`updates may not remove a condition of type "${type}"`);
  if (rights.verdict !== true)
    for (const type of ['Approved', 'Denied'])
      if (ofType(request, type).length > ofType(old, type).length)
        conditions.forbidden(`updates may not add a condition of type "${type}"`);
  const [now = '', before = ''] = [request.status?.certificate, old.status?.certificate];
  const certificate = field.at('status').at('certificate');
  if (now === before) return;
  if (rights.certificate !== true) certificate.forbidden('updates may not set certificate content');
  else if (before !== '') certificate.forbidden('updates may not modify existing certificate content');
}

export function validateCertificateSigningRequestUpdate(
  request: CertificateSigningRequest,
  old: CertificateSigningRequest,
  field: Field,
): void {
  validateUpdate([request, old], {}, field);
}

/** `approval`: approval and denial are final, and the certificate is immutable. */
export function validateCertificateSigningRequestApproval(
  request: CertificateSigningRequest,
  old: CertificateSigningRequest,
  field: Field,
): void {
  validateUpdate([request, old], { verdict: true }, field);
}

/** `status`: a certificate can be set once. */
export function validateCertificateSigningRequestStatus(
  request: CertificateSigningRequest,
  old: CertificateSigningRequest,
  field: Field,
): void {
  validateUpdate([request, old], { certificate: true }, field);
}
