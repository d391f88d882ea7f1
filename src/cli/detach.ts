/**
 * `--detach` of up, server and agent: starts the same command line without `--detach` in a session of its own, shows its progress and
 * returns when its node is Ready. When the start fails, the reason comes from the process itself or from its log.
 */
import { spawn } from 'node:child_process';
import { closeSync, fstatSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage } from '../base/errors.ts';
import { checkOwnDataDir } from '../cluster/instance/own-data-dir.ts';
import { controlLines, requestControl } from '../cluster/instance/control-client.ts';
import type { ProgressLine } from '../cluster/instance/control-protocol.ts';
import { LOG_FILE_VARIABLE } from '../platform/node/log-rotation.ts';
import { HEAP_ENVIRONMENT } from './heap-environment.ts';
import type { InstanceStart } from './instance-start.ts';
import { welcome } from './kubeconfig/welcome.ts';
import { printProgress } from './progress.ts';
import { supervisedCommand } from './supervision.ts';
import { UserError } from './usage-error.ts';

const START_DEADLINE_MS = 180_000;
const STOP_DEADLINE_MS = 20_000;

/** Starts the command in the background. Resolves to the exit code. */
export async function startInBackground(dataDir: string, { supervised, kubeconfig }: InstanceStart): Promise<number> {
  const running = (await requestControl(dataDir, 'pid')) as { pid?: number } | undefined;
  if (running !== undefined)
    throw new UserError(
      `another keelson runs on ${dataDir} (pid ${running.pid}); stop it first or use another --data-dir`,
    );
  const logFile = `${dataDir}/logs/keelson.log`;
  const { child, logStart } = startDetached(logFile, supervised);
  const exit = new Promise<number>((resolve) => child.on('exit', (code) => resolve(code ?? 1)));
  const following = new AbortController();
  const outcome = await Promise.race([
    followProgress(dataDir, following.signal),
    exit.then(() => 'exited' as const),
    sleep(START_DEADLINE_MS, 'late' as const, { ref: false }),
  ]).finally(() => following.abort());
  if (outcome === 'ready') {
    await welcome(dataDir, kubeconfig);
    child.unref();
    return 0;
  }
  if (outcome === 'late')
    throw new UserError(`the cluster is not ready after ${START_DEADLINE_MS / 1000} s; see ${logFile}`);
  // The child logs its error after it has cleaned up.
  const code = await Promise.race([exit, sleep(STOP_DEADLINE_MS, 1, { ref: false })]);
  throw new UserError(`${lastError(logFile, logStart)} (log: ${logFile})`, code === 2 ? 2 : 1);
}

function startDetached(logFile: string, supervised: boolean): { child: ReturnType<typeof spawn>; logStart: number } {
  try {
    const logDir = dirname(logFile);
    checkOwnDataDir(dirname(logDir));
    mkdirSync(logDir, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new UserError(`cannot use the data directory: ${errorMessage(error)}`);
  }
  const log = openSync(logFile, 'a', 0o600);
  const logStart = fstatSync(log).size;
  const args = process.argv.slice(2).filter((a) => a !== '--detach');
  const command = supervised
    ? ['/bin/sh', ...supervisedCommand(args)]
    : [process.execPath, process.argv[1] ?? '', ...args];
  const child = spawn(command[0] ?? '', command.slice(1), {
    detached: true,
    stdio: ['ignore', log, log],
    env: { ...HEAP_ENVIRONMENT, ...process.env, [LOG_FILE_VARIABLE]: logFile },
  });
  closeSync(log);
  return { child, logStart };
}

/** Shows the progress from the control socket, once it exists. The signal ends it; otherwise it keeps this process alive. */
async function followProgress(dataDir: string, signal: AbortSignal): Promise<'ready' | 'failed' | 'aborted'> {
  while (!signal.aborted) {
    for await (const line of controlLines(dataDir, 'progress')) {
      const progress = line as Partial<ProgressLine> & { error?: string };
      if (progress.phase !== undefined) printProgress(progress as ProgressLine);
      if (progress.outcome !== undefined) return progress.outcome;
    }
    await sleep(15);
  }
  return 'aborted';
}

/** Last log line of a failed start; its `keelson: …` line if there is one. */
function lastError(logFile: string, logStart: number): string {
  const lines = readFileSync(logFile).subarray(logStart).toString().trim().split('\n');
  const complaint = lines.findLast((line) => line.startsWith('keelson: '));
  return (complaint ?? (lines.at(-1) || 'the cluster did not start')).replace(/^keelson: /, '');
}
