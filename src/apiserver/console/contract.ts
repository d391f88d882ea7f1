/** The inputs of an API server's console. */
import type { Clock } from '../../platform/clock.ts';
import type { Random } from '../../platform/random.ts';

/** A built file of the console, as the index of the build names it. */
export interface ConsoleFile {
  readonly type: string;
  /** Quoted, as in the header. */
  readonly etag: string;
  /** Its name has a hash of its content: it never changes. */
  readonly hashed: boolean;
  /** Encodings beside the plain form, the smallest first. */
  readonly encodings: readonly ('br' | 'gzip')[];
}

export interface ConsoleFiles {
  /** By name, as in `/console/NAME`; undefined when nothing is built. */
  index(): Promise<ReadonlyMap<string, ConsoleFile> | undefined>;
  /** A file of the index, plain or encoded. */
  read(name: string, encoding?: 'br' | 'gzip'): Promise<Uint8Array>;
}

/** The ports of a console. The time is real and the randomness is fit for secrets, in simulations as well. */
export interface ConsolePorts {
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly random: Pick<Random, 'bytes'>;
  readonly files: ConsoleFiles;
}

/** Gives the ports at the first request for the console. */
export type LoadConsole = () => Promise<ConsolePorts>;
