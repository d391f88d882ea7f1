// What is fuzzed: a process, its doors, and what must hold for those who use it well.
import type { Problem } from '../oracles/answers.ts';
import type { Access } from '../transports/access.ts';
import type { Peers } from '../peers/steady-peers.ts';
import type { PluginDirectories } from '../transports/plugin.ts';

/** What must hold of one kind of target, seen by a well-behaved client. */
export interface Checks {
  /** Puts in place what exchanges refer to. */
  prepare(): Promise<void>;
  /** Resolves when the process answers. */
  ready(): Promise<void>;
  /** @throws Error when the client is not served; runs beside the exchanges */
  serves(): Promise<void>;
  /** Between blocks: takes away what stands in everybody's way, and works. @throws Error when that does not come about */
  works(): Promise<void>;
  /** When the process that answers began: a supervisor may have started another one. */
  startTime(): Promise<string>;
  /** What is wrong at the end of a run. */
  problems(): Promise<Problem[]>;
  /** What the next process must have too. */
  sample(): Promise<ReadonlyMap<string, object>>;
  differences(before: ReadonlyMap<string, object>, after: ReadonlyMap<string, object>): Problem[];
  close(): void;
}

export interface Target {
  /** Where exchanges go that name no door. */
  readonly access: Access;
  readonly doors?: Readonly<Record<string, Access>>;
  /** Whom the process calls. */
  readonly peers?: Peers;
  readonly plugins?: PluginDirectories;
  readonly pid: number;
  readonly folder: string;
  readonly checks: Checks;
  /** What it wrote so far. */
  log(): string;
  /** How it ended; undefined while it runs. */
  ended(): string | undefined;
  /** Stops it and starts it again on the same data. */
  restart(): Promise<Target>;
  stop(): Promise<void>;
}
