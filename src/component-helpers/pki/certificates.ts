/**
 * X.509 work: authorities, certificates, certificate requests. ECDSA P-256 throughout. Certificates are backdated by
 * five minutes against skewed clocks. The library is loaded for what others made (requests, certificates) alone: a start,
 * even the first, never pays for it. Upstream: client-go util/cert and kubeadm's pkiutil.
 */
import type { CryptoPort } from '../../platform/crypto.ts';
import type { Random } from '../../platform/random.ts';
import {
  distinguishedName,
  pemBytes,
  pemText,
  readAuthority,
  writeAuthority,
  writeLeaf,
} from './certificate-writer.ts';

const BACKDATE_MS = 5 * 60_000;
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/** What certificate work needs. */
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

/** What a certificate says. */
export interface CertificateRequestSpec {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
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

async function library(crypto: CryptoPort): Promise<X509> {
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  x509.cryptoProvider.set(crypto.webcrypto as never);
  return x509;
}

/** Makes a self-signed certificate authority. */
export async function createAuthority(
  deps: CertificateDeps,
  commonName: string,
  validityMs: number,
): Promise<KeyPairPem> {
  const keys = await newKeys(deps.crypto);
  const now = deps.nowMs();
  const certPem = await writeAuthority(deps.crypto, {
    serial: serial(deps.random),
    subject: distinguishedName(commonName, []),
    notBeforeMs: now - BACKDATE_MS,
    notAfterMs: now + validityMs,
    publicKey: await publicKeyOf(deps.crypto, keys),
    signingKey: keys.privateKey,
  });
  return { certPem, keyPem: await exportKey(deps.crypto, keys.privateKey) };
}

/** Makes a key pair and a certificate for it, signed by `authority`. */
export async function issueCertificate(
  deps: CertificateDeps,
  authority: KeyPairPem,
  spec: CertificateRequestSpec,
): Promise<KeyPairPem> {
  const keys = await newKeys(deps.crypto);
  const certPem = await sign(deps, authority, { ...spec, publicKey: await publicKeyOf(deps.crypto, keys) });
  return { certPem, keyPem: await exportKey(deps.crypto, keys.privateKey) };
}

/** Makes a new key and a PEM request for a certificate with these names. */
export async function createRequest(
  { crypto }: Pick<CertificateDeps, 'crypto'>,
  spec: Pick<CertificateRequestSpec, 'commonName' | 'organizations' | 'dnsNames' | 'ipAddresses'>,
): Promise<{ readonly requestPem: string; readonly keyPem: string }> {
  const x509 = await library(crypto);
  const keys = await newKeys(crypto);
  const alternative = alternativeNames(spec);
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: nameOf(spec.commonName, spec.organizations ?? []),
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: alternative.length > 0 ? [new x509.SubjectAlternativeNameExtension(alternative)] : [],
  });
  return { requestPem: `${request.toString('pem')}\n`, keyPem: await exportKey(crypto, keys.privateKey) };
}

/** What a certificate says of itself. Throws when the text is no certificate. */
export async function readCertificate(
  { crypto }: Pick<CertificateDeps, 'crypto'>,
  certPem: string,
): Promise<{
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  readonly commonName: string;
  readonly ipAddresses: readonly string[];
  /** SHA-256 of the public key (SPKI), hexadecimal: what kubeadm pins an authority by. */
  readonly publicKeyHash: string;
}> {
  const x509 = await library(crypto);
  const cert = new x509.X509Certificate(certPem);
  const names = cert.getExtension(x509.SubjectAlternativeNameExtension)?.names.items ?? [];
  return {
    notBeforeMs: cert.notBefore.getTime(),
    notAfterMs: cert.notAfter.getTime(),
    commonName: cert.subjectName.getField('CN')[0] ?? '',
    ipAddresses: names.filter((n) => n.type === 'ip').map((n) => n.value),
    publicKeyHash: crypto.sha256Hex(new Uint8Array(cert.publicKey.rawData)),
  };
}

function alternativeNames(
  spec: Pick<CertificateRequestSpec, 'dnsNames' | 'ipAddresses'>,
): { readonly type: 'dns' | 'ip'; readonly value: string }[] {
  return [
    ...(spec.dnsNames ?? []).map((value) => ({ type: 'dns' as const, value })),
    ...(spec.ipAddresses ?? []).map((value) => ({ type: 'ip' as const, value })),
  ];
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
  const x509 = await library(crypto);
  const csr = new x509.Pkcs10CertificateRequest(pem);
  if (!(await csr.verify(crypto.webcrypto as never)))
    throw new Error('the certificate request has an invalid signature');
  const names = csr.extensions.find((e) => e instanceof x509.SubjectAlternativeNameExtension);
  const items = names?.names.items ?? [];
  const of = (type: string): string[] => items.filter((n) => n.type === type).map((n) => n.value);
  return {
    commonName: csr.subjectName.getField('CN')[0] ?? '',
    organizations: csr.subjectName.getField('O'),
    dnsNames: of('dns'),
    ipAddresses: of('ip'),
    emailAddresses: of('email'),
    uris: of('url'),
  };
}

async function sign(
  deps: CertificateDeps,
  authority: KeyPairPem,
  spec: CertificateRequestSpec & { readonly publicKey: Uint8Array },
): Promise<string> {
  const issuer = await readAuthority(deps.crypto, authority.certPem);
  const now = deps.nowMs();
  const { commonName, organizations = [], dnsNames = [], ipAddresses = [], usages, publicKey } = spec;
  return writeLeaf(deps.crypto, {
    serial: serial(deps.random),
    subject: distinguishedName(commonName, organizations),
    authority: issuer,
    notBeforeMs: now - BACKDATE_MS,
    notAfterMs: Math.min(now + spec.validityMs, issuer.notAfterMs),
    publicKey,
    signingKey: await importKey(deps.crypto, authority.keyPem),
    usages,
    dnsNames,
    ipAddresses,
  });
}

function nameOf(commonName: string, organizations: readonly string[]): Record<string, string[]>[] {
  return [...organizations.map((o) => ({ O: [o] })), { CN: [commonName] }];
}

function serial(random: Random): Uint8Array {
  const bytes = random.bytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes;
}

async function publicKeyOf({ webcrypto }: CryptoPort, { publicKey }: CryptoKeyPair): Promise<Uint8Array> {
  return new Uint8Array(await webcrypto.subtle.exportKey('spki', publicKey));
}

async function newKeys(crypto: CryptoPort): Promise<CryptoKeyPair> {
  return (await crypto.webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])) as CryptoKeyPair;
}

async function exportKey(crypto: CryptoPort, key: CryptoKey): Promise<string> {
  return pemText('PRIVATE KEY', new Uint8Array(await crypto.webcrypto.subtle.exportKey('pkcs8', key)));
}

function importKey(crypto: CryptoPort, pem: string): Promise<CryptoKey> {
  return crypto.webcrypto.subtle.importKey('pkcs8', Uint8Array.from(pemBytes(pem)), ALGORITHM, true, ['sign']);
}

type CryptoKey = Awaited<ReturnType<CryptoPort['webcrypto']['subtle']['importKey']>>;
type CryptoKeyPair = { readonly publicKey: CryptoKey; readonly privateKey: CryptoKey };
