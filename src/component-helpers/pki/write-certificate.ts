/**
 * Encodes certificates and certificate requests for a signer. ECDSA P-256 with SHA-256 throughout. A first start
 * creates eight before the API server can serve, and loading a complete X.509 library takes a fifth of that start.
 * Upstream: crypto/x509 CreateCertificate and CreateCertificateRequest.
 */
import { parseIp } from '../../base/cidr.ts';
import { TAG } from '../../base/der.ts';
import { derBits, derElement, derInteger, derOid, derTime } from './write-der.ts';

/** The subject of a certificate and its alternative names. */
export interface CertificateNames {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
}

/** The fields of a certificate; all bytes are DER. */
export interface CertificateContent {
  readonly serial: Uint8Array;
  readonly issuer: Uint8Array;
  readonly subject: Uint8Array;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  readonly publicKey: Uint8Array;
  readonly extensions: readonly Uint8Array[];
}

/** Signs bytes: `r` and `s`, 32 bytes each. */
export type Signer = (bytes: Uint8Array) => Promise<Uint8Array>;

const OID = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  extensionRequest: '1.2.840.113549.1.9.14',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  alternativeNames: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
} as const;

const USAGES = { server: '1.3.6.1.5.5.7.3.1', client: '1.3.6.1.5.5.7.3.2' } as const;
const [PRINTABLE_STRING, UTF8_STRING, BOOLEAN] = [0x13, 0x0c, 0x01];
/** Context-specific tags in a certificate, a request and an extension. */
const [VERSION, EXTENSIONS, ATTRIBUTES, KEY_ID, DNS_NAME, IP_ADDRESS] = [0xa0, 0xa3, 0xa0, 0x80, 0x82, 0x87];

const sequence = (...parts: readonly Uint8Array[]): Uint8Array => derElement(TAG.sequence, ...parts);
const algorithm = sequence(derOid(OID.ecdsaWithSha256));

export async function certificate(content: CertificateContent, sign: Signer): Promise<Uint8Array> {
  const { serial, issuer, subject, notBeforeMs, notAfterMs, publicKey, extensions } = content;
  const version3 = derElement(VERSION, derInteger(Buffer.from([2])));
  const validity = sequence(derTime(notBeforeMs), derTime(notAfterMs));
  const head = [version3, derInteger(serial), algorithm, issuer, validity, subject, publicKey];
  return signedSequence(sequence(...head, derElement(EXTENSIONS, sequence(...extensions))), sign);
}

/** A signed request for a certificate of this key. */
export async function certificateRequest(
  { names, publicKey }: { readonly names: CertificateNames; readonly publicKey: Uint8Array },
  sign: Signer,
): Promise<Uint8Array> {
  const wanted = alternativeNames(names);
  const asked = sequence(derOid(OID.extensionRequest), derElement(TAG.set, sequence(...wanted)));
  const attributes = derElement(ATTRIBUTES, ...(wanted.length > 0 ? [asked] : []));
  return signedSequence(sequence(derInteger(Buffer.from([0])), nameOf(names), publicKey, attributes), sign);
}

async function signedSequence(content: Uint8Array, sign: Signer): Promise<Uint8Array> {
  const signature = await sign(content);
  const numbers = [signature.subarray(0, 32), signature.subarray(32)].map(derInteger);
  return sequence(content, algorithm, derBits(sequence(...numbers)));
}

/** Organizations, then the common name, each a set of its own. */
export function nameOf({ commonName, organizations = [] }: CertificateNames): Uint8Array {
  const part = (type: string, text: string): Uint8Array =>
    derElement(TAG.set, sequence(derOid(type), stringElement(text)));
  return sequence(...organizations.map((name) => part(OID.organization, name)), part(OID.commonName, commonName));
}

function stringElement(text: string): Uint8Array {
  return derElement(/^[A-Za-z0-9 '()+,\-./:=?]*$/.test(text) ? PRINTABLE_STRING : UTF8_STRING, Buffer.from(text));
}

export function authorityExtensions(keyId: Uint8Array): Uint8Array[] {
  return [
    extension(OID.basicConstraints, { critical: true, value: sequence(derElement(BOOLEAN, Buffer.from([0xff]))) }),
    // digitalSignature, keyEncipherment, keyCertSign
    extension(OID.keyUsage, { critical: true, value: derBits(Buffer.from([0b1010_0100]), 2) }),
    extension(OID.subjectKeyIdentifier, { value: derElement(TAG.octetString, keyId) }),
  ];
}

/** Extensions of a certificate that signs no others. `issuerKeyId` is that of its authority's key, where it has one. */
export function leafExtensions(
  names: CertificateNames,
  usages: readonly ('server' | 'client')[],
  issuerKeyId: Uint8Array | undefined,
): Uint8Array[] {
  const purposes = usages.map((usage) => derOid(USAGES[usage]));
  return [
    extension(OID.basicConstraints, { critical: true, value: sequence() }),
    // digitalSignature, keyEncipherment
    extension(OID.keyUsage, { critical: true, value: derBits(Buffer.from([0b1010_0000]), 5) }),
    extension(OID.extendedKeyUsage, { value: sequence(...purposes) }),
    ...(issuerKeyId === undefined
      ? []
      : [extension(OID.authorityKeyIdentifier, { value: sequence(derElement(KEY_ID, issuerKeyId)) })]),
    ...alternativeNames(names),
  ];
}

function alternativeNames({ dnsNames = [], ipAddresses = [] }: CertificateNames): Uint8Array[] {
  const names = [
    ...dnsNames.map((name) => derElement(DNS_NAME, asciiBytes(name))),
    ...ipAddresses.map((text) => derElement(IP_ADDRESS, addressBytes(text))),
  ];
  return names.length === 0 ? [] : [extension(OID.alternativeNames, { value: sequence(...names) })];
}

function asciiBytes(text: string): Uint8Array {
  if (!/^[\0-\x7f]*$/.test(text)) throw new Error(`x509: ${JSON.stringify(text)} cannot be encoded as an IA5String`);
  return Buffer.from(text);
}

function addressBytes(text: string): Uint8Array {
  const address = parseIp(text);
  if (address === undefined) throw new Error(`no address for a certificate: ${JSON.stringify(text)}`);
  const { family, value } = address;
  return Buffer.from(value.toString(16).padStart(family === 4 ? 8 : 32, '0'), 'hex');
}

function extension(type: string, { critical = false, value }: { critical?: boolean; value: Uint8Array }): Uint8Array {
  const flag = critical ? [derElement(BOOLEAN, Buffer.from([0xff]))] : [];
  return sequence(derOid(type), ...flag, derElement(TAG.octetString, value));
}
