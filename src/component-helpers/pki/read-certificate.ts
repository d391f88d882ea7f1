/**
 * Reads certificates without the library that creates them: every start reads some, and few create any. Only the
 * outer structure is checked, so that truncated or other input is refused; keys, names, signatures and other
 * extensions are not. So it accepts certificates that TLS may refuse later. Upstream: crypto/x509 ParseCertificate.
 */
import { formatIp } from '../../base/cidr.ts';
import { parseTime } from '../../api/time.ts';
import { certificateBlocks } from '../../platform/certificate-blocks.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import { derBytes, derContent, derElements, TAG, type DerElement } from '../../base/der.ts';

/** The fields that are read from a certificate. */
export interface CertificateFacts {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** The subject's common name; '' when it has none. */
  readonly commonName: string;
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  /** SHA-256 of the public key (SPKI), hexadecimal: the form in which kubeadm pins an authority. */
  readonly publicKeyHash: string;
}

const COMMON_NAME = '2.5.4.3';
const SUBJECT_KEY_ID = '2.5.29.14';
const ALTERNATIVE_NAMES = '2.5.29.17';
/** Tags within a certificate. */
const [VERSION, EXTENSIONS, DNS_NAME, IP_ADDRESS] = [0xa0, 0xa3, 0x82, 0x87];

/** The fields of an issuer that the certificates it signs repeat. */
export interface IssuerFacts {
  /** DER. */
  readonly subject: Uint8Array;
  readonly notAfterMs: number;
  /** The subject key identifier; absent when the certificate has none. */
  readonly keyId?: Uint8Array;
}

/** Reads the first certificate of a PEM text. Throws when there is none. */
export function readCertificate({ crypto }: { readonly crypto: CryptoPort }, certPem: string): CertificateFacts {
  const { notBeforeMs, notAfterMs, subject, publicKey, extensions } = partsOf(certPem);
  return {
    notBeforeMs,
    notAfterMs,
    commonName: commonNameOf(subject),
    dnsNames: alternativeNames(extensions, DNS_NAME).map((name) => Buffer.from(name).toString('latin1')),
    ipAddresses: alternativeNames(extensions, IP_ADDRESS).map(addressText),
    publicKeyHash: crypto.sha256Hex(publicKey.whole),
  };
}

/** Reads the first certificate of a PEM text, as an authority. Throws when there is none. */
export function readIssuer(certPem: string): IssuerFacts {
  const { notAfterMs, subject, extensions } = partsOf(certPem);
  const value = extensionOf(extensions, SUBJECT_KEY_ID);
  return { subject: subject.whole, notAfterMs, keyId: value && derBytes(value, TAG.octetString) };
}

interface Parts {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  readonly subject: DerElement;
  readonly publicKey: DerElement;
  readonly extensions: DerElement | undefined;
}

function partsOf(certPem: string): Parts {
  const [certificate, ...trailing] = derElements(derOf(certPem));
  if (trailing.length > 0) throw new Error('malformed certificate: trailing data');
  const [signed, algorithm, signature] = derContent(certificate, TAG.sequence);
  checkAlgorithm(algorithm);
  derBytes(signature, TAG.bitString);
  const fields = derContent(signed, TAG.sequence);
  const [serial, inner, issuer, ...others] = fields[0]?.tag === VERSION ? fields.slice(1) : fields;
  derBytes(serial, TAG.integer);
  checkAlgorithm(inner);
  derContent(issuer, TAG.sequence);
  const [validity, subject, publicKey, ...rest] = others;
  derContent(subject, TAG.sequence);
  const [keyAlgorithm, key] = derContent(publicKey, TAG.sequence);
  checkAlgorithm(keyAlgorithm);
  derBytes(key, TAG.bitString);
  const [notBefore, notAfter] = derContent(validity, TAG.sequence);
  return {
    notBeforeMs: timeOf(notBefore),
    notAfterMs: timeOf(notAfter),
    subject: subject!,
    publicKey: publicKey!,
    extensions: rest.find(({ tag }) => tag === EXTENSIONS),
  };
}

/** Checks that an AlgorithmIdentifier begins with an object identifier; parameters may follow. */
function checkAlgorithm(element: DerElement | undefined): void {
  oidOf(derContent(element, TAG.sequence)[0]);
}

function derOf(pem: string): Uint8Array {
  const [, base64 = ''] = certificateBlocks(pem)[0]!.split('-----\n');
  return Buffer.from(base64.split('-----')[0]!, 'base64');
}

/** `260102030405Z`, of the years 1950 to 2049, or `20500102030405Z`. */
function timeOf(element: DerElement | undefined): number {
  const text = Buffer.from(element?.content ?? []).toString('latin1');
  const match = /^(\d{2}|\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(text);
  const isShort = element?.tag === TAG.utcTime;
  const [, year = '', month, day, hour, minute, second] = match ?? [];
  if (year.length !== (isShort ? 2 : 4) || (!isShort && element?.tag !== TAG.generalizedTime))
    throw new Error(`malformed certificate: no time: ${JSON.stringify(text)}`);
  const century = !isShort ? '' : Number(year) < 50 ? '20' : '19';
  const atMs = parseTime(`${century}${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  if (Number.isNaN(atMs)) throw new Error(`malformed certificate: no time: ${JSON.stringify(text)}`);
  return atMs;
}

/** The common name; the last where there are several. */
function commonNameOf(subject: DerElement | undefined): string {
  let commonName = '';
  for (const set of derContent(subject, TAG.sequence)) {
    for (const attribute of derContent(set, TAG.set)) {
      const [type, value] = derContent(attribute, TAG.sequence);
      if (oidOf(type) === COMMON_NAME && value !== undefined) commonName = textOf(value);
    }
  }
  return commonName;
}

function textOf({ tag, content }: DerElement): string {
  return tag === TAG.bmpString
    ? Buffer.from(content).swap16().toString('utf16le')
    : Buffer.from(content).toString('utf8');
}

function alternativeNames(extensions: DerElement | undefined, kind: number): readonly Uint8Array[] {
  const names = extensionOf(extensions, ALTERNATIVE_NAMES);
  if (names === undefined) return [];
  return derContent(names, TAG.sequence)
    .filter(({ tag }) => tag === kind)
    .map(({ content }) => content);
}

/** The value of the extension of this type; undefined when the certificate has none. */
function extensionOf(extensions: DerElement | undefined, wanted: string): DerElement | undefined {
  if (extensions === undefined) return undefined;
  for (const extension of derContent(derElements(extensions.content)[0], TAG.sequence)) {
    const [type, ...values] = derContent(extension, TAG.sequence);
    if (oidOf(type) !== wanted) continue;
    // The element between type and value is the critical flag.
    const [value] = derElements(derBytes(values.at(-1), TAG.octetString));
    if (value === undefined) throw new Error(`malformed certificate: nothing in the extension ${wanted}`);
    return value;
  }
  return undefined;
}

function addressText(bytes: Uint8Array): string {
  if (bytes.length !== 4 && bytes.length !== 16)
    throw new Error(`malformed certificate: an address of ${bytes.length} bytes`);
  const value = BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
  return formatIp({ family: bytes.length === 4 ? 4 : 6, value });
}

/** An object identifier as text, e.g. `2.5.4.3`. */
function oidOf(element: DerElement | undefined): string {
  const bytes = derBytes(element, TAG.oid);
  if (bytes.length === 0) throw new Error('malformed certificate: an empty object identifier');
  const numbers: number[] = [];
  let number = 0;
  for (const byte of bytes) {
    number = number * 128 + (byte & 0x7f);
    if (byte >= 0x80) continue;
    numbers.push(number);
    number = 0;
  }
  const [first = 0, ...rest] = numbers;
  const top = Math.min(2, Math.floor(first / 40));
  return [top, first - top * 40, ...rest].join('.');
}
