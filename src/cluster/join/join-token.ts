/**
 * The join token `K10<hash>::<id>.<secret>`: the hash is SHA-256 over the public key of the cluster's authority
 * (kubeadm's `sha256:<hash>`), the rest is a bootstrap token. So one text contains whom to trust and who joins. A
 * plain `<id>.<secret>` is accepted too, with a separate hash. Pure.
 */

const SECURE = /^K10([0-9a-f]{64})::([a-z0-9]{6}\.[a-z0-9]{16})$/;
const PLAIN = /^[a-z0-9]{6}\.[a-z0-9]{16}$/;
const HASH = /^sha256:([0-9a-f]{64})$/i;

/** The parts of a join token. */
export interface JoinToken {
  /** `<id>.<secret>`. */
  readonly bootstrapToken: string;
  /** The authority's public key must have one of these hashes. Never empty. */
  readonly caHashes: readonly string[];
}

/** The form with a hash. */
export function formatJoinToken(caHash: string, bootstrapToken: string): string {
  return `K10${caHash}::${bootstrapToken}`;
}

/** Parses a token and separate hashes (`sha256:<hex>`). Throws an Error that does not contain the token. */
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
