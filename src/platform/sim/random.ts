/** Seeded randomness: xoshiro128** streams, seeded by splitmix64 from the seed's and the stream's names. Not for secrets. */
import { fnv64a } from '../../base/fnv.ts';
import { nameSuffixFrom, uuidFrom } from '../random-values.ts';
import type { Random } from '../random.ts';

/** The stream of a seed. The same seed always gives the same values; forks depend on names alone, not on draws. */
export function createSeededRandom(seed: number | string): Random {
  const path = String(seed);
  // Seeded at the first draw: of most streams nobody ever draws.
  let stream: (() => number) | undefined;
  const nextUint32 = (): number => (stream ??= xoshiro128(fnv64a(path)))();
  const next = (): number => (nextUint32() * 2 ** 21 + (nextUint32() >>> 11)) / 2 ** 53;
  const int = (below: number): number => {
    if (!(below >= 1)) throw new RangeError(`int(below) needs at least 1, got ${below}`);
    return Math.floor(next() * below);
  };
  const bytes = (length: number): Uint8Array => {
    const out = new Uint8Array(length);
    for (let index = 0; index < length; index++) out[index] = nextUint32() >>> 24;
    return out;
  };
  return {
    next,
    int,
    bytes,
    uuid: () => uuidFrom(bytes(16)),
    nameSuffix: (length) => nameSuffixFrom(int, length),
    fork: (name) => createSeededRandom(`${path}/${name}`),
  };
}

function xoshiro128(seed: bigint): () => number {
  let mix = seed;
  const splitmix = (): bigint => {
    mix = BigInt.asUintN(64, mix + 0x9e3779b97f4a7c15n);
    let z = mix;
    z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    return z ^ (z >> 31n);
  };
  const first = splitmix();
  const second = splitmix();
  const low = (value: bigint): number => Number(value & 0xffffffffn) | 0;
  let [a, b, c, d] = [low(first), low(first >> 32n), low(second), low(second >> 32n)];
  const rotate = (value: number, by: number): number => (value << by) | (value >>> (32 - by));
  return () => {
    const result = Math.imul(rotate(Math.imul(b, 5), 7), 9) >>> 0;
    const shifted = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= shifted;
    d = rotate(d, 11);
    return result;
  };
}
