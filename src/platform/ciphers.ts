/**
 * Synchronous symmetric ciphers. WebCrypto has only asynchronous ones, which would break the order of a store's
 * events.
 */

/** AES with keys of 16, 24 or 32 bytes. */
export interface Ciphers {
  /** PKCS#7 padding; `iv` of 16 bytes. */
  encryptAesCbc(key: Uint8Array, iv: Uint8Array, data: Uint8Array): Uint8Array;
  /** Throws when the padding is wrong. */
  decryptAesCbc(key: Uint8Array, iv: Uint8Array, data: Uint8Array): Uint8Array;
  /** Ciphertext with the tag of 16 bytes at its end; `nonce` of 12 bytes. */
  encryptAesGcm(using: GcmKey, data: Uint8Array): Uint8Array;
  /** Throws when the text or the additional data was changed. */
  decryptAesGcm(using: GcmKey, data: Uint8Array): Uint8Array;
}

/** The key and nonce of one message in GCM. */
export interface GcmKey {
  readonly key: Uint8Array;
  readonly nonce: Uint8Array;
  /** Authenticated with the text, not part of it. */
  readonly additional: Uint8Array;
}
