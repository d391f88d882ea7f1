/** Seeded randomness: xoshiro128** streams, seeded by splitmix64 from the seed's and the stream's names. Not for secrets. */
import { fnv64a } from '../../base/fnv.ts';
import { nameSuffixFrom, uuidFrom } from '../random-values.ts';
import type { Random } from '../random.ts';

/** The stream of a seed. The same seed always gives the same values; forks depend on names alone, not on draws. */
export function createSeededRandom(seed: number | string): Random {
  return new SeededRandom(String(seed));
}

/** A class: every machine of a simulation has a dozen sources, most of them never drawn from. */
class SeededRandom implements Random {
  readonly #path: string;
  /** Seeded at the first draw. */
  #stream: Xoshiro128 | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  next(): number {
    return (this.#nextUint32() * 2 ** 21 + (this.#nextUint32() >>> 11)) / 2 ** 53;
  }

  int(below: number): number {
    if (!(below >= 1)) throw new RangeError(`int(below) needs at least 1, got ${below}`);
    return Math.floor(this.next() * below);
  }

  bytes(length: number): Uint8Array {
    const out = new Uint8Array(length);
    for (let index = 0; index < length; index++) out[index] = this.#nextUint32() >>> 24;
    return out;
  }

  uuid(): string {
    return uuidFrom(this.bytes(16));
  }

  nameSuffix(length: number): string {
    return nameSuffixFrom((below) => this.int(below), length);
  }

  fork(name: string): Random {
    return new SeededRandom(`${this.#path}/${name}`);
  }

  #nextUint32(): number {
    return (this.#stream ??= new Xoshiro128(fnv64a(this.#path))).next();
  }
}

function rotate(value: number, by: number): number {
  return (value << by) | (value >>> (32 - by));
}

class Xoshiro128 {
  #a: number;
  #b: number;
  #c: number;
  #d: number;

  constructor(seed: bigint) {
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
    this.#a = low(first);
    this.#b = low(first >> 32n);
    this.#c = low(second);
    this.#d = low(second >> 32n);
  }

  next(): number {
    const result = Math.imul(rotate(Math.imul(this.#b, 5), 7), 9) >>> 0;
    const shifted = this.#b << 9;
    this.#c ^= this.#a;
    this.#d ^= this.#b;
    this.#b ^= this.#c;
    this.#a ^= this.#d;
    this.#c ^= shifted;
    this.#d = rotate(this.#d, 11);
    return result;
  }
}
