/**
 * The text a machine joins with: `K10<hash>::<id>.<secret>`, where the hash is SHA-256 over the public key of the cluster's
 * authority (what kubeadm writes as `sha256:<hash>`) and the rest is a bootstrap token. So one text says whom to trust and
 * who asks. A plain `<id>.<secret>` is taken too, with the hash given apart. Pure.
 */

const SECURE = /^K10([0-9a-f]{64})::([a-z0-9]{6}\.[a-z0-9]{16})$/;
const PLAIN = /^[a-z0-9]{6}\.[a-z0-9]{16}$/;
const HASH = /^sha256:([0-9a-f]{64})$/i;

/** What a machine knows before it joins. */
export interface JoinToken {
  /** `<id>.<secret>`. */
  readonly bootstrapToken: string;
  /** Hashes one of which the authority's public key must have. Never empty. */
  readonly caHashes: readonly string[];
}

/** The secure form. */
export function formatJoinToken(caHash: string, bootstrapToken: string): string {
  return `K10${caHash}::${bootstrapToken}`;
}

/** Reads a token and separate hashes (`sha256:<hex>`). Throws an Error that names what is wrong but never shows the token. */
export function parseJoinToken(text: string, hashes: readonly string[] = []): JoinToken {
  const pins = hashes.map((hash) => {
    const pin = HASH.exec(hash)?.[1];
    if (pin === undefined) throw new Error(`${hash} is not of the form sha256:<64 hexadecimal digits>`);
    return pin.toLowerCase();
  });
  const [, caHash, secureToken] = SECURE.exec(text) ?? [];
  if (caHash !== undefined && secureToken !== undefined)
    return { bootstrapToken: secureToken, caHashes: [caHash, ...pins] };
  if (!PLAIN.test(text)) throw new Error('the token is neither of the form K10<hash>::<id>.<secret> nor <id>.<secret>');
  if (pins.length === 0)
    throw new Error('a token of the form <id>.<secret> needs --discovery-token-ca-cert-hash: it says whom to trust');
  return { bootstrapToken: text, caHashes: pins };
}
