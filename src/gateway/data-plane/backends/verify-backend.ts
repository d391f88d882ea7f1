/** The verification of a backend's TLS as options of Node's clients. */
import { createHash } from 'node:crypto';
import { checkServerIdentity, createSecureContext, type PeerCertificate, type SecureContext } from 'node:tls';
import type { Backend } from '../../snapshot/snapshot.ts';

type Verification = NonNullable<Backend['verification']>;
type AltNames = NonNullable<Verification['altNames']>;

/** An entry of Node's text of alternative names; values with special characters are JSON strings. */
const ALT_NAME = /([^:,"]+):("(?:[^"\\]|\\.)*"|[^,"]*)(?:, |$)/y;
const MAX_CONTEXTS = 256;

/** Without `verification` any certificate is accepted. `authority`: host and port that the client requested. */
export function tlsOptions({ verification }: Pick<Backend, 'verification'>, authority: string): object {
  if (verification === undefined) {
    const servername = authority.replace(/:\d*$/, '');
    return { servername: /^[\d.]+$|^\[/.test(servername) ? '' : servername, rejectUnauthorized: false };
  }
  const { serverName: servername, altNames } = verification;
  const options = {
    servername,
    secureContext: contextOf(verification),
    // Node.js separates shared connections by this option, but neither by the context nor by the function below.
    sessionIdContext: verificationId(verification),
  };
  if (altNames === undefined) return options;
  return {
    ...options,
    checkServerIdentity: (_name: string, certificate: PeerCertificate) => checkAltNames(altNames, certificate),
  };
}

const ids = new WeakMap<Verification, string>();
/**
 * Contexts by verification, the last used at the end. They are cached because parsing authorities takes longer than a handshake.
 */
const contexts = new Map<string, SecureContext>();

/** An ID that is equal for equal verifications. */
export function verificationId(verification: Verification): string {
  const { serverName, caPem, altNames } = verification;
  const id =
    ids.get(verification) ??
    createHash('sha256')
      .update(JSON.stringify([serverName, caPem, altNames]))
      .digest('base64');
  ids.set(verification, id);
  return id;
}

function contextOf(verification: Verification): SecureContext {
  const id = verificationId(verification);
  const context = contexts.get(id) ?? createSecureContext({ ca: verification.caPem });
  contexts.delete(id);
  contexts.set(id, context);
  for (const oldest of contexts.keys()) {
    if (contexts.size <= MAX_CONTEXTS) break;
    contexts.delete(oldest);
  }
  return context;
}

/** The error when the certificate has none of the names; undefined when it has one. */
export function checkAltNames(
  wanted: AltNames,
  { subjectaltname = '' }: Pick<PeerCertificate, 'subjectaltname'>,
): Error | undefined {
  const names = altNamesIn(subjectaltname);
  if (names === undefined) return new Error('the names of the certificate cannot be read');
  const { uris, hosts } = names;
  const isThere = wanted.some(({ type, value }) =>
    type === 'URI'
      ? uris.has(value)
      : hosts.has(value) ||
        // a wildcard of the certificate
        isCovered(value, hosts),
  );
  if (isThere) return undefined;
  return new Error(`the certificate has none of the names ${wanted.map(({ value }) => value).join(', ')}`);
}

/**
 * All entries are parsed in order, so that no name is found inside another entry, even if Node.js does not escape commas
 * (CVE-2021-44532). Undefined for a malformed text.
 */
function altNamesIn(text: string): { readonly uris: Set<string>; readonly hosts: Set<string> } | undefined {
  const [uris, hosts] = [new Set<string>(), new Set<string>()];
  for (let at = 0; at < text.length; at = ALT_NAME.lastIndex) {
    ALT_NAME.lastIndex = at;
    const [, type, raw = ''] = ALT_NAME.exec(text) ?? [];
    if (type === undefined) return undefined;
    if (type !== 'URI' && type !== 'DNS') continue;
    const value = unquoted(raw);
    if (value === undefined) return undefined;
    if (type === 'URI') uris.add(value);
    // Other values are no host names, and could be read as several.
    else if (/^[\w*.-]+$/.test(value)) hosts.add(value.toLowerCase());
  }
  return { uris, hosts };
}

function unquoted(raw: string): string | undefined {
  if (!raw.startsWith('"')) return raw;
  try {
    return JSON.parse(raw) as string;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Only DNS names of the certificate count, not its subject or its addresses. */
function isCovered(name: string, hosts: ReadonlySet<string>): boolean {
  const subjectaltname = [...hosts].map((host) => `DNS:${host}`).join(', ');
  return (
    subjectaltname !== '' && checkServerIdentity(name, { subject: {}, subjectaltname } as PeerCertificate) === undefined
  );
}
