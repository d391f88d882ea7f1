/** The authorities of a `ca.crt`, parsed once while the text stays. */
import { errorMessage } from '../../base/errors.ts';
import { readIssuer } from '../../component-helpers/pki/read-certificate.ts';

export type CaCertificates = { readonly pem: string; readonly count: number } | { readonly problem: string };

const MAX_BYTES = 64 * 1024;
/** The number of cached texts, with `MAX_BYTES` 16 MiB. */
const MAX_TEXTS = 256;
export const MAX_CA_CERTIFICATES = 100;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

export class CaCertificateCache {
  /** The oldest first. */
  readonly #known = new Map<string, CaCertificates>();
  readonly #readIssuer: (pem: string) => unknown;

  /** `read` throws for a text that is no certificate. */
  constructor(read: (pem: string) => unknown = readIssuer) {
    this.#readIssuer = read;
  }

  read(text: string): CaCertificates {
    if (text.length > MAX_BYTES) return { problem: `has more than ${MAX_BYTES} bytes of ca.crt` };
    const cached = this.#known.get(text) ?? this.#parse(text);
    this.#known.delete(text);
    this.#known.set(text, cached);
    if (this.#known.size > MAX_TEXTS) this.#known.delete(this.#known.keys().next().value!);
    return cached;
  }

  #parse(text: string): CaCertificates {
    const blocks = text.match(CERTIFICATE) ?? [];
    if (blocks.length === 0) return { problem: 'has no certificate in ca.crt' };
    const pem = blocks.join('\n');
    // A policy with more certificates is refused, whatever they are.
    if (blocks.length > MAX_CA_CERTIFICATES) return { pem, count: blocks.length };
    try {
      for (const block of blocks) this.#readIssuer(block);
    } catch (error) {
      return { problem: `has a ca.crt that cannot be read: ${errorMessage(error)}` };
    }
    return { pem, count: blocks.length };
  }
}
