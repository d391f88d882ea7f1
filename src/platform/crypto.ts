/**
 * The cryptography port: synchronous hashing, and key pairs and signatures through WebCrypto. In simulations keys may
 * be seeded; hashing is always real.
 */

import type { Ciphers } from './ciphers.ts';

/** Hashes, keys and comparisons. */
export interface CryptoPort {
  /** SHA-256 of `data`, as lower-case hexadecimal. */
  sha256Hex(data: string | Uint8Array): string;
  /** Compares in constant time; false at once when the lengths differ. */
  timingSafeEqual(a: Uint8Array, b: Uint8Array): boolean;
  /** The WebCrypto implementation used for certificates and tokens. Loads nothing until its first use. */
  readonly webcrypto: typeof globalThis.crypto;
  /** Symmetric ciphers; absent under simulation. */
  readonly ciphers?: Ciphers;
}
