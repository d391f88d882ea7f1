/**
 * The process port. `spawn` blocks the event loop longer the larger the process is, so the real adapter delegates to
 * a small spawner process that was started first.
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
  /** Ends the program with SIGKILL after this time. Default 60 s. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface DaemonOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Both outputs are appended to this file. */
  readonly logFile: string;
}

/**
 * A small program of Keelson's own, which runs as a process so that it can be killed. Its argument and result are
 * described in its file in `platform/node/`.
 */
export type OwnProgram = 'change-group';

/** Runs programs. */
export interface Exec {
  /** Runs to the end. Rejects only when the program cannot be started (`code` is ENOENT …) or the signal aborts. */
  run(file: string, args: readonly string[], options?: ExecOptions): Promise<ExecResult>;
  /** The file and first arguments of a program of Keelson's own, for `run`. */
  ownProgram(name: OwnProgram): readonly [string, ...string[]];
  /** Starts a program in a session of its own that outlives this process; resolves to its pid. */
  startDaemon(file: string, args: readonly string[], options: DaemonOptions): Promise<number>;
  /**
   * Sends a signal; false when there is no such process. Signal 0 only checks: also false for a process that has
   * ended but is not reaped.
   */
  kill(pid: number, signal: 'SIGTERM' | 'SIGKILL' | 'SIGHUP' | 0): boolean;
  /** Kills a process that `startDaemon` started, with the children in its process group; false when there is none. */
  killDaemon(pid: number): boolean;
}
