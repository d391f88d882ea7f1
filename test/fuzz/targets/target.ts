// A target: a process, its addresses, and the checks by a well-behaved client.
import type { Problem } from '../oracles/answers.ts';
import type { Access } from '../transports/access.ts';
import type { Peers } from '../peers/steady-peers.ts';
import type { PluginDirectories } from '../transports/plugin.ts';

/** The checks of one kind of target by a well-behaved client. */
export interface Checks {
  /** Creates the objects that exchanges refer to. */
  prepare(): Promise<void>;
  /** Resolves when the process responds. */
  ready(): Promise<void>;
  /** @throws Error when the client is not served; runs beside the exchanges */
  serves(): Promise<void>;
  /** Between blocks: removes objects that block all clients, and works. @throws Error when that fails */
  works(): Promise<void>;
  /** The start time of the responding process; a supervisor may have started another one. */
  startTime(): Promise<string>;
  /** The problems at the end of a run. */
  problems(): Promise<Problem[]>;
  /** Objects that the next process must have too. */
  sample(): Promise<ReadonlyMap<string, object>>;
  differences(before: ReadonlyMap<string, object>, after: ReadonlyMap<string, object>): Problem[];
  close(): void;
}

export interface Target {
  /** The address of exchanges that name none. */
  readonly access: Access;
  readonly doors?: Readonly<Record<string, Access>>;
  /** The peers that the process calls. */
  readonly peers?: Peers;
  readonly plugins?: PluginDirectories;
  readonly pid: number;
  readonly folder: string;
  readonly checks: Checks;
  /** Its output so far. */
  log(): string;
  /** How it ended; undefined while it runs. */
  ended(): string | undefined;
  /** Stops it and starts it again on the same data. */
  restart(): Promise<Target>;
  stop(): Promise<void>;
}
