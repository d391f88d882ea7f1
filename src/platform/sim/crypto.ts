/**
 * Real hashing; real WebCrypto whose asynchronous operations hold virtual time. Keys are random unless the caller
 * derives them from seeded bytes.
 */
import type { Clock } from '../clock.ts';
import type { CryptoPort } from '../crypto.ts';
import * as plain from './sha256.ts';

/** Saved when this module loads: in threads that only simulate, the global one throws later. */
const real = globalThis.crypto;

/** Makes the crypto port of a simulation; `sha256Hex` may be a faster one than that in plain TypeScript. */
export function createSimCrypto(clock: Clock, sha256Hex: CryptoPort['sha256Hex'] = plain.sha256Hex): CryptoPort {
  const subtle = new Proxy(real.subtle, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return async (...args: unknown[]): Promise<unknown> => {
        const release = clock.holdBusy(`crypto.subtle.${String(name)}`);
        try {
          return await (member as (...all: unknown[]) => Promise<unknown>).apply(target, args);
        } finally {
          release();
        }
      };
    },
  });
  const webcrypto = new Proxy(real, {
    get(target, name) {
      if (name === 'subtle') return subtle;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
  return {
    sha256Hex,
    timingSafeEqual(a, b) {
      let difference = a.byteLength ^ b.byteLength;
      for (let index = 0; index < a.byteLength; index++) difference |= a[index]! ^ (b[index] ?? 0);
      return difference === 0;
    },
    webcrypto,
  };
}
