/**
 * X.509 work: authorities, certificates, certificate requests. ECDSA P-256 throughout. Certificates are backdated by
 * five minutes against skewed clocks. The library is loaded at the first call: a start that finds its certificates on
 * disk never pays for it. Upstream: client-go util/cert and kubeadm's pkiutil.
 */
import { dateOf } from '../../api/time.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import type { Random } from '../../platform/random.ts';

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
  const x509 = await library(deps.crypto);
  const keys = await newKeys(deps.crypto);
  const now = deps.nowMs();
  const cert = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(deps.random),
    name: nameOf(commonName, []),
    notBefore: dateOf(now - BACKDATE_MS),
    notAfter: dateOf(now + validityMs),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.keyEncipherment,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certPem: `${cert.toString('pem')}\n`, keyPem: await exportKey(deps.crypto, keys.privateKey) };
}

/** Makes a key pair and a certificate for it, signed by `authority`. */
export async function issueCertificate(
  deps: CertificateDeps,
  authority: KeyPairPem,
  spec: CertificateRequestSpec,
): Promise<KeyPairPem> {
  const keys = await newKeys(deps.crypto);
  const certPem = await sign(deps, authority, { ...spec, publicKey: keys.publicKey });
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
  return sign(deps, authority, {
    ...request.spec,
    publicKey: (await csr.publicKey.export(deps.crypto.webcrypto as never)) as never,
  });
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
  spec: CertificateRequestSpec & { publicKey: CryptoKey },
): Promise<string> {
  const x509 = await library(deps.crypto);
  const issuer = new x509.X509Certificate(authority.certPem);
  const now = deps.nowMs();
  const alternative = alternativeNames(spec);
  const cert = await x509.X509CertificateGenerator.create({
    serialNumber: serial(deps.random),
    subject: nameOf(spec.commonName, spec.organizations ?? []),
    issuer: issuer.subject,
    notBefore: dateOf(now - BACKDATE_MS),
    notAfter: dateOf(Math.min(now + spec.validityMs, issuer.notAfter.getTime())),
    signingAlgorithm: ALGORITHM,
    publicKey: spec.publicKey,
    signingKey: await importKey(deps.crypto, authority.keyPem),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.keyEncipherment, true),
      new x509.ExtendedKeyUsageExtension(
        spec.usages.map((u) => (u === 'server' ? '1.3.6.1.5.5.7.3.1' : '1.3.6.1.5.5.7.3.2')),
      ),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
      ...(alternative.length > 0 ? [new x509.SubjectAlternativeNameExtension(alternative)] : []),
    ],
  });
  return `${cert.toString('pem')}\n`;
}

function nameOf(commonName: string, organizations: readonly string[]): Record<string, string[]>[] {
  return [...organizations.map((o) => ({ O: [o] })), { CN: [commonName] }];
}

function serial(random: Random): string {
  const bytes = random.bytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return Buffer.from(bytes).toString('hex');
}

async function newKeys(crypto: CryptoPort): Promise<CryptoKeyPair> {
  return (await crypto.webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])) as CryptoKeyPair;
}

async function exportKey(crypto: CryptoPort, key: CryptoKey): Promise<string> {
  const der = Buffer.from(await crypto.webcrypto.subtle.exportKey('pkcs8', key)).toString('base64');
  const lines = der.match(/.{1,64}/g) ?? [];
  return `-----BEGIN PRIVATE KEY-----\n${lines.join('\n')}\n-----END PRIVATE KEY-----\n`;
}

function importKey(crypto: CryptoPort, pem: string): Promise<CryptoKey> {
  const der = Buffer.from(pem.replace(/-----[^-]+-----/g, '').replace(/\s/g, ''), 'base64');
  return crypto.webcrypto.subtle.importKey('pkcs8', der, ALGORITHM, true, ['sign']);
}

type CryptoKey = Awaited<ReturnType<CryptoPort['webcrypto']['subtle']['importKey']>>;
type CryptoKeyPair = { readonly publicKey: CryptoKey; readonly privateKey: CryptoKey };
