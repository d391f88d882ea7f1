/**
 * The process port. `spawn` blocks the event loop for as long as the process is large, so the real adapter sends the
 * request to a small spawner process started first.
 */

/** How a program ended. */
export interface ExecResult {
  /** Exit code; 128 + signal number when it was ended by a signal. */
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** True when the deadline ended it. */
  readonly timedOut: boolean;
}

export interface ExecOptions {
  readonly input?: string | Uint8Array;
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** False: `env` is the whole environment. Default true. */
  readonly inheritsEnv?: boolean;
  /** Runs as this user and group, without other groups. Default: this process's. */
  readonly user?: number | undefined;
  readonly cwd?: string;
  /** Ends the program with SIGKILL after so long. Default 60 s. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface DaemonOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Both outputs are appended to this file. */
  readonly logFile: string;
}

/** A small program of Keelson's own, a process that can be killed. Its argument and answer: its file in `platform/node/`. */
export type OwnProgram = 'give-to-group';

/** Runs programs. */
export interface Exec {
  /** Runs to the end. Rejects only when the program cannot be started (`code` is ENOENT …) or the signal aborts. */
  run(file: string, args: readonly string[], options?: ExecOptions): Promise<ExecResult>;
  /** The file and first arguments of a program of Keelson's own, for `run`. */
  ownProgram(name: OwnProgram): readonly [string, ...string[]];
  /** Starts a program in a session of its own that outlives this process; resolves to its pid. */
  startDaemon(file: string, args: readonly string[], options: DaemonOptions): Promise<number>;
  /** Sends a signal; false when there is no such process. Signal 0 only asks: false also when it has ended and is not reaped. */
  kill(pid: number, signal: 'SIGTERM' | 'SIGKILL' | 'SIGHUP' | 0): boolean;
  /** Kills a process that `startDaemon` started, with the children in its process group; false when there is none. */
  killDaemon(pid: number): boolean;
}
