/** How the TLS of a backend is verified, as options of Node's clients. */
import { createHash } from 'node:crypto';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import type { Backend } from '../../snapshot/snapshot.ts';

type AltNames = NonNullable<NonNullable<Backend['verification']>['altNames']>;

const ALT_NAME = /(?:^|, )(DNS|URI):("(?:[^"\\]|\\.)*"|[^,]*)/g;

/** Without `verification` the certificate may be any. `authority`: host and port that the client asked for. */
export function tlsOptions({ verification }: Pick<Backend, 'verification'>, authority: string): object {
  if (verification === undefined) {
    const servername = authority.replace(/:\d*$/, '');
    return { servername: /^[\d.]+$|^\[/.test(servername) ? '' : servername, rejectUnauthorized: false };
  }
  const { serverName: servername, caPem, altNames } = verification;
  if (altNames === undefined) return { servername, ca: caPem };
  return {
    servername,
    ca: caPem,
    checkServerIdentity: (_name: string, certificate: PeerCertificate) => checkAltNames(altNames, certificate),
    // Node.js shares connections by its options, but not by that function.
    sessionIdContext: idOf(altNames),
  };
}

const ids = new WeakMap<AltNames, string>();

/** OpenSSL takes 32 characters. */
function idOf(altNames: AltNames): string {
  const known =
    ids.get(altNames) ?? createHash('sha256').update(JSON.stringify(altNames)).digest('base64').slice(0, 32);
  ids.set(altNames, known);
  return known;
}

/** An error where none of the names is among the certificate's. */
export function checkAltNames(
  wanted: AltNames,
  { subjectaltname = '' }: Pick<PeerCertificate, 'subjectaltname'>,
): Error | undefined {
  const uris = new Set<string>();
  const hosts = new Set<string>();
  for (const [, type, text = ''] of subjectaltname.matchAll(ALT_NAME)) {
    const value = text.startsWith('"') ? (JSON.parse(text) as string) : text;
    if (type === 'URI') uris.add(value);
    else hosts.add(value.toLowerCase());
  }
  const isThere = wanted.some(({ type, value }) =>
    type === 'URI'
      ? uris.has(value)
      : hosts.has(value) ||
        // A wildcard of the certificate's.
        isCovered(value, hosts),
  );
  if (isThere) return undefined;
  return new Error(`the certificate has none of the names ${wanted.map(({ value }) => value).join(', ')}`);
}

/** Names of the certificate alone count, neither its subject nor its addresses. */
function isCovered(name: string, hosts: ReadonlySet<string>): boolean {
  const subjectaltname = [...hosts].map((host) => `DNS:${host}`).join(', ');
  return (
    subjectaltname !== '' && checkServerIdentity(name, { subject: {}, subjectaltname } as PeerCertificate) === undefined
  );
}
