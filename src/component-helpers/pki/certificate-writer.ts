/**
 * Writes and signs X.509 certificates without a library, whose loading would be a fifth of a first start: version 3, keys of
 * any kind, signatures ECDSA with SHA-256 by P-256 keys. What other people's authorities and requests contain is read by
 * the library (certificates.ts). Upstream: crypto/x509's CreateCertificate.
 */
import { parseIp } from '../../base/cidr.ts';
import { formatTime, parseTime } from '../../api/time.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import {
  bitString,
  type DerElement,
  derTime,
  element,
  objectIdentifier,
  readElements,
  sequence,
  TAG,
  timeText,
  unsignedInteger,
} from './der.ts';

type CryptoKey = Awaited<ReturnType<CryptoPort['webcrypto']['subtle']['importKey']>>;

const EXTENSION = {
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAlternativeName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
} as const;

const ECDSA_SHA256 = sequence(objectIdentifier('1.2.840.10045.4.3.2'));
/** digitalSignature, keyEncipherment; an authority's keyCertSign too. */
const LEAF_USAGE = bitString(Uint8Array.of(0xa0), 5);
const AUTHORITY_USAGE = bitString(Uint8Array.of(0xa4), 2);
const PURPOSE = { server: '1.3.6.1.5.5.7.3.1', client: '1.3.6.1.5.5.7.3.2' } as const;

/** What is the same in every certificate. */
interface CertificateBody {
  readonly serial: Uint8Array;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** DER of the subject's public key (SPKI). */
  readonly publicKey: Uint8Array;
  /** ECDSA P-256. */
  readonly signingKey: CryptoKey;
}

/** What a signer needs of its authority's certificate. */
export interface AuthorityCertificate {
  /** DER of its subject: the issuer of what it signs, byte for byte. */
  readonly subject: Uint8Array;
  readonly notAfterMs: number;
  readonly keyIdentifier: Uint8Array;
}

/** DER of a subject: organizations, then the common name. */
export function distinguishedName(commonName: string, organizations: readonly string[]): Uint8Array {
  const attribute = (oid: string, value: string): Uint8Array =>
    element(TAG.set, sequence(objectIdentifier(oid), nameString(value)));
  return sequence(...organizations.map((each) => attribute('2.5.4.10', each)), attribute('2.5.4.3', commonName));
}

/** A self-signed authority, as PEM. */
export async function writeAuthority(
  { webcrypto }: CryptoPort,
  body: CertificateBody & { readonly subject: Uint8Array },
): Promise<string> {
  const { subject, publicKey } = body;
  const identifier = await keyIdentifierOf(webcrypto, publicKey);
  return signed(webcrypto, { ...body, issuer: subject }, [
    extension('basicConstraints', sequence(element(TAG.boolean, Uint8Array.of(0xff))), true),
    extension('keyUsage', AUTHORITY_USAGE, true),
    extension('subjectKeyIdentifier', element(TAG.octetString, identifier)),
  ]);
}

/** A server's or client's certificate, as PEM. @throws Error when an address is none */
export async function writeLeaf(
  { webcrypto }: CryptoPort,
  body: CertificateBody & {
    readonly subject: Uint8Array;
    readonly authority: AuthorityCertificate;
    readonly usages: readonly ('server' | 'client')[];
    readonly dnsNames: readonly string[];
    readonly ipAddresses: readonly string[];
  },
): Promise<string> {
  const { authority, usages, dnsNames, ipAddresses } = body;
  const names = [
    ...dnsNames.map((name) => element(0x82, Buffer.from(name, 'latin1'))),
    ...ipAddresses.map((address) => element(0x87, addressBytes(address))),
  ];
  return signed(webcrypto, { ...body, issuer: authority.subject }, [
    extension('basicConstraints', sequence(), true),
    extension('keyUsage', LEAF_USAGE, true),
    extension('extendedKeyUsage', sequence(...usages.map((usage) => objectIdentifier(PURPOSE[usage])))),
    extension('authorityKeyIdentifier', sequence(element(0x80, authority.keyIdentifier))),
    ...(names.length > 0 ? [extension('subjectAlternativeName', sequence(...names))] : []),
  ]);
}

/** Reads an authority's certificate. @throws Error when the text is none */
export async function readAuthority({ webcrypto }: CryptoPort, certPem: string): Promise<AuthorityCertificate> {
  const [certificate] = readElements(pemBytes(certPem));
  const [body] = readElements(part(certificate).content);
  const fields = readElements(part(body).content);
  if (fields[0]?.tag === 0xa0) fields.shift(); // The version; the first one is not told.
  const [, , , validity, subject, publicKey, ...rest] = fields;
  const [, notAfter] = readElements(part(validity).content);
  const extensions = rest.find(({ tag }) => tag === 0xa3);
  return {
    subject: part(subject).whole,
    notAfterMs: parseTime(timeText(part(notAfter))),
    keyIdentifier: toldIdentifier(extensions) ?? (await keyIdentifierOf(webcrypto, part(publicKey).whole)),
  };
}

/** PEM of these bytes. */
export function pemText(label: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

/** The bytes of the first PEM block. */
export function pemBytes(pem: string): Uint8Array {
  const base64 = /-----BEGIN [^-]+-----([^-]+)-----END/.exec(pem)?.[1];
  if (base64 === undefined) throw new Error('there is no PEM block');
  return Buffer.from(base64, 'base64');
}

async function signed(
  { subtle }: CryptoPort['webcrypto'],
  body: CertificateBody & { readonly subject: Uint8Array; readonly issuer: Uint8Array },
  extensions: readonly Uint8Array[],
): Promise<string> {
  const { serial, issuer, subject, publicKey } = body;
  const times = [body.notBeforeMs, body.notAfterMs].map((wallMs) => derTime(wallMs, formatTime));
  const toSign = sequence(
    element(0xa0, unsignedInteger(Uint8Array.of(2))),
    unsignedInteger(serial),
    ECDSA_SHA256,
    issuer,
    sequence(...times),
    subject,
    publicKey,
    element(0xa3, sequence(...extensions)),
  );
  const raw = Buffer.from(
    await subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, body.signingKey, Uint8Array.from(toSign)),
  );
  const signature = sequence(unsignedInteger(raw.subarray(0, 32)), unsignedInteger(raw.subarray(32)));
  return pemText('CERTIFICATE', sequence(toSign, ECDSA_SHA256, bitString(signature)));
}

function extension(name: keyof typeof EXTENSION, value: Uint8Array, critical = false): Uint8Array {
  const flag = critical ? [element(TAG.boolean, Uint8Array.of(0xff))] : [];
  return sequence(objectIdentifier(EXTENSION[name]), ...flag, element(TAG.octetString, value));
}

/** As Go writes names: the plainest string type that holds them. */
function nameString(value: string): Uint8Array {
  const printable = /^[A-Za-z0-9 '()+,\-./:=?]*$/.test(value);
  return element(printable ? TAG.printableString : TAG.utf8String, Buffer.from(value, 'utf8'));
}

function addressBytes(text: string): Uint8Array {
  const address = parseIp(text);
  if (address === undefined) throw new Error(`${text} is no address`);
  const digits = address.value.toString(16).padStart(address.family === 4 ? 8 : 32, '0');
  return Buffer.from(digits, 'hex');
}

/** RFC 5280's first method: SHA-1 of the key's bits. */
async function keyIdentifierOf({ subtle }: CryptoPort['webcrypto'], publicKey: Uint8Array): Promise<Uint8Array> {
  const [whole] = readElements(publicKey);
  const bits = readElements(part(whole).content)[1];
  return new Uint8Array(await subtle.digest('SHA-1', Uint8Array.from(part(bits).content.subarray(1))));
}

/** The identifier a certificate gives its own key. */
function toldIdentifier(extensions: DerElement | undefined): Uint8Array | undefined {
  const wanted = Buffer.from(objectIdentifier(EXTENSION.subjectKeyIdentifier));
  const [list] = extensions === undefined ? [] : readElements(extensions.content);
  for (const each of list === undefined ? [] : readElements(list.content)) {
    const fields = readElements(each.content);
    const value = fields.at(-1);
    if (fields[0] !== undefined && value !== undefined && wanted.equals(fields[0].whole))
      return readElements(value.content)[0]?.content;
  }
  return undefined;
}

function part(found: DerElement | undefined): DerElement {
  if (found === undefined) throw new Error('the certificate is cut short');
  return found;
}
