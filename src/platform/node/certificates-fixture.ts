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
  issue(subject: string, hosts?: readonly string[]): Promise<TestCertificate>;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

async function pemKey(key: webcrypto.CryptoKey): Promise<string> {
  return x509.PemConverter.encode(await crypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');
}

/** Makes an authority with a new key. */
export async function createTestAuthority(name: string): Promise<TestAuthority> {
  x509.cryptoProvider.set(crypto);
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const dates = { notBefore: new Date('2020-01-01T00:00:00Z'), notAfter: new Date('2120-01-01T00:00:00Z') };
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys,
    ...dates,
    signingAlgorithm: algorithm,
    extensions: [new x509.BasicConstraintsExtension(true)],
  });
  return {
    caPem: ca.toString('pem'),
    async issue(subject, hosts = []) {
      const own = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
      const names = hosts.map((value) => ({
        type: /^[\d.]+$/.test(value) ? ('ip' as const) : ('dns' as const),
        value,
      }));
      const certificate = await x509.X509CertificateGenerator.create({
        subject,
        issuer: ca.subject,
        ...dates,
        publicKey: own.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: algorithm,
        extensions: names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)],
      });
      return { certPem: certificate.toString('pem'), keyPem: await pemKey(own.privateKey) };
    },
  };
}
