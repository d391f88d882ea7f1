/**
 * The randomness port. Each component takes a named stream, so that under simulation one component's draws never
 * shift another's, and a run repeats exactly from its seed.
 */

/** A stream of random values. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** A uniform integer in [0, below). `below` must be at least 1. */
  int(below: number): number;
  /** `length` random bytes; fit for keys and tokens on a real platform. */
  bytes(length: number): Uint8Array;
  /** A version 4 UUID. */
  uuid(): string;
  /** `length` characters of upstream's name alphabet (`bcdfghjklmnpqrstvwxz2456789`), as in generated names. */
  nameSuffix(length: number): string;
  /** An independent stream for `name`; the same name gives the same stream under one seed. */
  fork(name: string): Random;
}
