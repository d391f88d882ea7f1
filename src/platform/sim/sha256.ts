/**
 * SHA-256 in plain TypeScript, synchronous, for simulations, which import nothing of Node. FIPS 180-4. By hand rather
 * than by node:crypto: simulated adapters import nothing of Node.js, and WebCrypto is asynchronous.
 */

const k = new Uint32Array(64);
const initial = new Uint32Array(8);
fillConstants();

/** The constants are the first 32 bits of the fractions of cube and square roots of the first primes. */
function fillConstants(): void {
  let count = 0;
  for (let candidate = 2; count < 64; candidate++) {
    if (!isPrime(candidate)) continue;
    if (count < 8) initial[count] = fraction(Math.sqrt(candidate));
    k[count++] = fraction(Math.cbrt(candidate));
  }
}

function isPrime(candidate: number): boolean {
  for (let divisor = 2; divisor * divisor <= candidate; divisor++) if (candidate % divisor === 0) return false;
  return true;
}

function fraction(root: number): number {
  return Math.floor((root - Math.floor(root)) * 2 ** 32);
}

/** The hash as lower-case hexadecimal. */
export function sha256Hex(data: string | Uint8Array): string {
  const message = typeof data === 'string' ? new TextEncoder().encode(data) : data;
  const padded = new Uint8Array(Math.ceil((message.byteLength + 9) / 64) * 64);
  padded.set(message);
  padded[message.byteLength] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.byteLength - 8, BigInt(message.byteLength) * 8n);
  const state = initial.slice();
  const words = new Uint32Array(64);
  for (let at = 0; at < padded.byteLength; at += 64) {
    for (let index = 0; index < 16; index++) words[index] = view.getUint32(at + index * 4);
    compress(state, words);
  }
  return [...state].map((word) => word.toString(16).padStart(8, '0')).join('');
}

/** Without calls and lists of values: the first hashes of a process are made before V8 has optimized this. */
function compress(state: Uint32Array, words: Uint32Array): void {
  for (let index = 16; index < 64; index++) {
    const early = words[index - 15]!;
    const late = words[index - 2]!;
    const s0 = ((early >>> 7) | (early << 25)) ^ ((early >>> 18) | (early << 14)) ^ (early >>> 3);
    const s1 = ((late >>> 17) | (late << 15)) ^ ((late >>> 19) | (late << 13)) ^ (late >>> 10);
    words[index] = words[index - 16]! + s0 + words[index - 7]! + s1;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let index = 0; index < 64; index++) {
    const sum1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const choice = (e & f) ^ (~e & g);
    const first = (h + sum1 + choice + k[index]! + words[index]!) | 0;
    const sum0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const majority = (a & b) ^ (a & c) ^ (b & c);
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + sum0 + majority) | 0;
  }
  for (const [index, value] of [a, b, c, d, e, f, g, h].entries()) state[index] = state[index]! + value;
}
