/**
 * Creates and signs X.509 authorities, certificates and certificate requests. ECDSA P-256 throughout. Certificates
 * are backdated by five minutes against skewed clocks. The library parses other programs' requests, whatever their
 * keys and names, and is loaded for the first of them. Upstream: client-go util/cert and kubeadm's pkiutil.
 */
import { requestLengthProblem } from '../../api/validation/certificate-request.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import type { Random } from '../../platform/random.ts';
import { derBytes, derContent, derElements, TAG } from '../../base/der.ts';
import { readIssuer } from './read-certificate.ts';
import {
  authorityExtensions,
  certificate,
  certificateRequest,
  leafExtensions,
  nameOf,
  type CertificateNames,
  type Signer,
} from './write-certificate.ts';

const BACKDATE_MS = 5 * 60_000;
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

export interface CertificateDeps {
  readonly crypto: CryptoPort;
  readonly random: Random;
  /** Wall-clock milliseconds. */
  readonly nowMs: () => number;
}

/** A certificate with its private key (PKCS#8), as PEM. */
export interface KeyPairPem {
  readonly certPem: string;
  readonly keyPem: string;
}

export interface CertificateRequestSpec extends CertificateNames {
  readonly usages: readonly ('server' | 'client')[];
  readonly validityMs: number;
}

/** The parts of a certificate request (CSR) that signers look at. */
export interface ParsedRequest {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly emailAddresses: readonly string[];
  readonly uris: readonly string[];
}

type X509 = typeof import('@peculiar/x509');

/** The library reads the global `crypto` while it is loaded: a thread that later forbids it calls this first. */
export async function loadCertificateLibrary(): Promise<X509> {
  await import('reflect-metadata');
  return await import('@peculiar/x509');
}

async function library(crypto: CryptoPort): Promise<X509> {
  const x509 = await loadCertificateLibrary();
  x509.cryptoProvider.set(crypto.webcrypto as never);
  return x509;
}

/** Makes a self-signed certificate authority. */
export async function createAuthority(
  deps: CertificateDeps,
  commonName: string,
  validityMs: number,
): Promise<KeyPairPem> {
  const { crypto, random } = deps;
  const keys = await newKeys(crypto);
  const publicKey = await exportPublicKey(crypto, keys.publicKey);
  const now = deps.nowMs();
  const name = nameOf({ commonName });
  const der = await certificate(
    {
      serial: serial(random),
      issuer: name,
      subject: name,
      notBeforeMs: now - BACKDATE_MS,
      notAfterMs: now + validityMs,
      publicKey,
      extensions: authorityExtensions(keyId(crypto, publicKey)),
    },
    signerOf(crypto, keys.privateKey),
  );
  return { certPem: pemText('CERTIFICATE', der), keyPem: await exportKey(crypto, keys.privateKey) };
}

/** Makes a key pair and a certificate for it, signed by `authority`. */
export async function issueCertificate(
  deps: CertificateDeps,
  authority: KeyPairPem,
  spec: CertificateRequestSpec,
): Promise<KeyPairPem> {
  const keys = await newKeys(deps.crypto);
  const certPem = await sign(deps, authority, {
    ...spec,
    publicKey: await exportPublicKey(deps.crypto, keys.publicKey),
  });
  return { certPem, keyPem: await exportKey(deps.crypto, keys.privateKey) };
}

/** Makes a new key and a PEM request for a certificate with these names. */
export async function createRequest(
  { crypto }: Pick<CertificateDeps, 'crypto'>,
  names: CertificateNames,
): Promise<{ readonly requestPem: string; readonly keyPem: string }> {
  const keys = await newKeys(crypto);
  const publicKey = await exportPublicKey(crypto, keys.publicKey);
  const der = await certificateRequest({ names, publicKey }, signerOf(crypto, keys.privateKey));
  return {
    requestPem: pemText('CERTIFICATE REQUEST', der),
    keyPem: await exportKey(crypto, keys.privateKey),
  };
}

/** Signs a PEM certificate request with exactly `spec` (subject and names from the request are the caller's to copy). */
export async function signRequest(
  deps: CertificateDeps,
  authority: KeyPairPem,
  request: { pem: string; spec: CertificateRequestSpec },
): Promise<string> {
  const x509 = await library(deps.crypto);
  const csr = new x509.Pkcs10CertificateRequest(request.pem);
  return sign(deps, authority, { ...request.spec, publicKey: new Uint8Array(csr.publicKey.rawData) });
}

/** Reads a PEM certificate request and checks its signature. Throws when it is none or the signature is wrong. */
export async function parseRequest(crypto: CryptoPort, pem: string): Promise<ParsedRequest> {
  const tooLong = requestLengthProblem(pem);
  if (tooLong !== undefined) throw new Error(`the certificate request ${tooLong}`);
  const x509 = await library(crypto);
  const csr = new x509.Pkcs10CertificateRequest(pem);
  if (!(await csr.verify(crypto.webcrypto as never)))
    throw new Error('the certificate request has an invalid signature');
  const names = csr.extensions.find((e) => e instanceof x509.SubjectAlternativeNameExtension);
  const items = names?.names.items ?? [];
  const valuesOf = (type: string): string[] => items.filter((n) => n.type === type).map((n) => n.value);
  return {
    commonName: csr.subjectName.getField('CN')[0] ?? '',
    organizations: csr.subjectName.getField('O'),
    dnsNames: valuesOf('dns'),
    ipAddresses: valuesOf('ip'),
    emailAddresses: valuesOf('email'),
    uris: valuesOf('url'),
  };
}

async function sign(
  deps: CertificateDeps,
  authority: KeyPairPem,
  spec: CertificateRequestSpec & { readonly publicKey: Uint8Array },
): Promise<string> {
  const { crypto, random } = deps;
  const issuer = readIssuer(authority.certPem);
  const now = deps.nowMs();
  const der = await certificate(
    {
      serial: serial(random),
      issuer: issuer.subject,
      subject: nameOf(spec),
      notBeforeMs: now - BACKDATE_MS,
      notAfterMs: Math.min(now + spec.validityMs, issuer.notAfterMs),
      publicKey: spec.publicKey,
      extensions: leafExtensions(spec, spec.usages, issuer.keyId),
    },
    signerOf(crypto, await importKey(crypto, authority.keyPem)),
  );
  return pemText('CERTIFICATE', der);
}

function signerOf({ webcrypto }: CryptoPort, key: CryptoKey): Signer {
  return async (bytes) => new Uint8Array(await webcrypto.subtle.sign(ALGORITHM, key, bytes as Uint8Array<ArrayBuffer>));
}

/** The first 160 bits of the SHA-256 of a public key's bits (RFC 7093). */
function keyId(crypto: CryptoPort, publicKey: Uint8Array): Uint8Array {
  const bits = derBytes(derContent(derElements(publicKey)[0], TAG.sequence)[1], TAG.bitString).subarray(1);
  return Buffer.from(crypto.sha256Hex(bits).slice(0, 40), 'hex');
}

function serial(random: Random): Uint8Array {
  const bytes = random.bytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes;
}

async function newKeys(crypto: CryptoPort): Promise<CryptoKeyPair> {
  return (await crypto.webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])) as CryptoKeyPair;
}

async function exportKey(crypto: CryptoPort, key: CryptoKey): Promise<string> {
  return pemText('PRIVATE KEY', new Uint8Array(await crypto.webcrypto.subtle.exportKey('pkcs8', key)));
}

async function exportPublicKey(crypto: CryptoPort, key: CryptoKey): Promise<Uint8Array> {
  return new Uint8Array(await crypto.webcrypto.subtle.exportKey('spki', key));
}

/** DER as text, in lines of 64 characters. */
export function pemText(label: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

function importKey(crypto: CryptoPort, pem: string): Promise<CryptoKey> {
  const der = Buffer.from(pem.replace(/-----[^-]+-----/g, '').replace(/\s/g, ''), 'base64');
  return crypto.webcrypto.subtle.importKey('pkcs8', der, ALGORITHM, true, ['sign']);
}

type CryptoKey = Awaited<ReturnType<CryptoPort['webcrypto']['subtle']['importKey']>>;
type CryptoKeyPair = { readonly publicKey: CryptoKey; readonly privateKey: CryptoKey };
