// The program under test as a separate process, with its output.
import { type ChildProcess, spawn } from 'node:child_process';
import { keelsonProgram } from '../../integration/fixtures/programs.ts';

export interface Program {
  readonly pid: number;
  log(): string;
  /** How it ended; undefined while it runs. */
  ended(): string | undefined;
  stop(): Promise<void>;
}

const STOP_MS = 30_000;

/** The limit of kept output, in characters. */
const MAX_LOG = 4_000_000;

/** Runs in a mount namespace with a read-only root, except for a folder and other mounts. */
const READ_ONLY_ROOT = 'mount --make-rprivate / && mount --bind "$0" "$0" && mount -o remount,ro,bind / && exec "$@"';

/** With `folder` the program can change files only there, because hostile peers name paths. */
export function startProgram(args: readonly string[], folder?: string): Program {
  const own = [process.execPath, keelsonProgram, ...args];
  const [file = '', ...rest] =
    folder === undefined ? own : ['unshare', '-m', 'sh', '-c', READ_ONLY_ROOT, folder, ...own];
  const child: ChildProcess = spawn(file, rest, { stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => (log = (log + chunk.toString()).slice(-MAX_LOG)));
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  return {
    pid: child.pid!,
    log: () => log,
    ended: () => (hasEnded() ? `${child.signalCode ?? `exit code ${child.exitCode}`}` : undefined),
    async stop() {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      if (hasEnded() || !child.kill('SIGTERM')) return;
      // A frozen process handles no signal.
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await gone;
      clearTimeout(timer);
    },
  };
}
