/** Throw-away certificates for tests of TLS. */
import 'reflect-metadata';
import type { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

/** PEM texts of a certificate and its key. */
export interface TestCertificate {
  readonly certPem: string;
  readonly keyPem: string;
}

/** A certificate authority that signs test certificates. */
export interface TestAuthority {
  readonly caPem: string;
  /** `notAfter`: default is far away. */
  issue(subject: string | x509.JsonName, hosts?: readonly string[], notAfter?: Date): Promise<TestCertificate>;
  /** An intermediate authority with a certificate of this one. */
  intermediate(name: string, notAfter?: Date): Promise<TestAuthority>;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const notBefore = new Date('2020-01-01T00:00:00Z');
const farAway = new Date('2120-01-01T00:00:00Z');

async function pemKey(key: webcrypto.CryptoKey): Promise<string> {
  return x509.PemConverter.encode(await crypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

/** Makes an authority with a new key. */
export async function createTestAuthority(name: string): Promise<TestAuthority> {
  x509.cryptoProvider.set(crypto);
  const keys = await newKeys();
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys,
    notBefore,
    notAfter: farAway,
    signingAlgorithm: algorithm,
    extensions: [new x509.BasicConstraintsExtension(true)],
  });
  return authorityOf(ca, keys);
}

function authorityOf(ca: x509.X509Certificate, keys: webcrypto.CryptoKeyPair): TestAuthority {
  const sign = (
    subject: string | x509.JsonName,
    publicKey: webcrypto.CryptoKey,
    { notAfter, extensions }: { readonly notAfter: Date; readonly extensions: x509.Extension[] },
  ): Promise<x509.X509Certificate> =>
    x509.X509CertificateGenerator.create({
      subject,
      issuer: ca.subject,
      notBefore,
      notAfter,
      publicKey,
      signingKey: keys.privateKey,
      signingAlgorithm: algorithm,
      extensions,
    });
  return {
    caPem: ca.toString('pem'),
    async issue(subject, hosts = [], notAfter = farAway) {
      const own = await newKeys();
      const names = hosts.map((value) => ({
        type: /^[\d.]+$/.test(value) ? ('ip' as const) : ('dns' as const),
        value,
      }));
      const extensions = names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)];
      const certificate = await sign(subject, own.publicKey, { notAfter, extensions });
      return { certPem: certificate.toString('pem'), keyPem: await pemKey(own.privateKey) };
    },
    async intermediate(name, notAfter = farAway) {
      const own = await newKeys();
      const extensions = [new x509.BasicConstraintsExtension(true)];
      return authorityOf(await sign(`CN=${name}`, own.publicKey, { notAfter, extensions }), own);
    },
  };
}
