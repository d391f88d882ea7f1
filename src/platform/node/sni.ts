/**
 * Certificates by the name that a client asks for (SNI). Upstream: server/options/serving_with_loopback.go,
 * dynamiccertificates/named_certificates.go.
 */
import { X509Certificate } from 'node:crypto';
import type { SniCertificate } from '../http.ts';

/**
 * The certificates by name. Configured names take precedence over names in certificates; of equal names the first is
 * used. Throws for an invalid certificate.
 */
export function certificatesByName(certificates: readonly SniCertificate[]): ReadonlyMap<string, SniCertificate> {
  const byName = new Map<string, SniCertificate>();
  const take = (one: SniCertificate, names: readonly string[]): void => {
    for (const name of names) if (!byName.has(name)) byName.set(name, one);
  };
  for (const one of certificates) take(one, one.names);
  for (const one of certificates) if (one.names.length === 0) take(one, namesIn(one.certPem));
  return byName;
}

/** The entry for a name, or for the wildcard of its domain. */
export function contextOf<T>(byName: ReadonlyMap<string, T>, name: string): T | undefined {
  const serverName = name.toLowerCase();
  return byName.get(serverName) ?? byName.get(`*${serverName.slice(serverName.indexOf('.'))}`);
}

/** The DNS names in a certificate, in lower case. */
export function namesIn(certPem: string): string[] {
  const { subject, subjectAltName = '' } = new X509Certificate(certPem);
  const alternatives = [...subjectAltName.matchAll(/DNS:([^,\s]+)/g)].map(([, name]) => name!);
  const common = /^CN=(.+)$/m.exec(subject)?.[1];
  const all = alternatives.length > 0 || common === undefined ? alternatives : [common];
  return all.map((name) => name.toLowerCase());
}
