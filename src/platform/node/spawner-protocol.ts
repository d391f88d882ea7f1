/** The messages between the process and its spawner over the child process's IPC channel. */

/** The code for an exception in the spawner, as opposed to a system error. */
export const SPAWNER_FAULT = 'EUNKNOWN';

export type SpawnerRequest =
  | {
      readonly kind: 'run';
      readonly id: number;
      readonly file: string;
      readonly args: readonly string[];
      readonly input: string | Uint8Array | undefined;
      readonly env: Readonly<Record<string, string>> | undefined;
      readonly inheritsEnv: boolean | undefined;
      readonly user: number | undefined;
      readonly cwd: string | undefined;
      readonly timeoutMs: number;
    }
  | {
      readonly kind: 'daemon';
      readonly id: number;
      readonly file: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>> | undefined;
      readonly cwd: string | undefined;
      readonly logFile: string;
    }
  | { readonly kind: 'abort'; readonly id: number };

export type SpawnerAnswer =
  | {
      readonly kind: 'ended';
      readonly id: number;
      readonly exitCode: number;
      readonly stdout: string;
      readonly stderr: string;
      readonly timedOut: boolean;
    }
  | { readonly kind: 'started'; readonly id: number; readonly pid: number }
  | { readonly kind: 'failed'; readonly id: number; readonly code: string; readonly message: string };
