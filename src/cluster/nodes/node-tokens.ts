/** The tokens by which further nodes join. The token of a node that has joined is unused and expires. */
import type { Client } from '../../client/client.ts';
import { readCertificate } from '../../component-helpers/pki/read-certificate.ts';
import type { Platform } from '../../platform/platform.ts';
import { createBootstrapToken, deleteBootstrapToken } from '../join/bootstrap-tokens.ts';
import { formatJoinToken } from '../join/join-token.ts';

const TOKEN_TTL_MS = 10 * 60_000;
/** Tokens are renewed this long before they expire, for nodes that have not joined by then. */
const RENEWAL_MS = 60_000;

/** The path at which a node reads its token. */
export const tokenFile = (dataDir: string): string => `${dataDir}/join-token`;

export class NodeTokens {
  readonly #platform: Platform;
  readonly #admin: Client;
  readonly #pkiDir: string;
  #token: { readonly text: string; readonly expiresAtMs: number } | undefined;
  #making: Promise<string> | undefined;

  constructor(platform: Platform, admin: Client, pkiDir: string) {
    this.#platform = platform;
    this.#admin = admin;
    this.#pkiDir = pkiDir;
  }

  /** Writes a valid token into a node's data directory. */
  async write(dataDir: string): Promise<void> {
    const { files } = this.#platform;
    await files.makeDir(dataDir, { mode: 0o700 });
    const caPem = await files.readText(`${this.#pkiDir}/ca.crt`);
    const text = formatJoinToken(readCertificate(this.#platform, caPem).publicKeyHash, await this.#good());
    await files.writeFileAtomic(tokenFile(dataDir), `${text}\n`, { mode: 0o600 });
  }

  /** Whether the written tokens expire soon. */
  isEnding(): boolean {
    return this.#token === undefined || this.#platform.clock.nowMs() > this.#token.expiresAtMs - RENEWAL_MS;
  }

  /** Deletes the token once all nodes have joined. */
  async drop(): Promise<void> {
    const token = this.#token;
    if (token === undefined) return;
    this.#token = undefined;
    await deleteBootstrapToken(this.#admin, token.text);
  }

  /** A valid token; concurrent callers share one. */
  #good(): Promise<string> {
    if (this.#token !== undefined && !this.isEnding()) return Promise.resolve(this.#token.text);
    this.#making ??= this.#make().finally(() => (this.#making = undefined));
    return this.#making;
  }

  async #make(): Promise<string> {
    const { clock, random } = this.#platform;
    const expiresAtMs = clock.nowMs() + TOKEN_TTL_MS;
    const description = 'keelson up --nodes';
    const text = await createBootstrapToken(this.#admin, random, { groups: [], expiresAtMs, description });
    this.#token = { text, expiresAtMs };
    return text;
  }
}
