/**
 * Reports when the machine ran out of memory and the kernel killed a process. Upstream:
 * pkg/kubelet/oom/oom_watcher_linux.go, which reads /dev/kmsg; that would block a thread of the process for ever.
 * Here the kernel's counter is read, and its log by dmesg only when the counter has risen. Containers that exceed
 * their own limits are reported in their statuses.
 */
import { onAbort } from '../../base/abort.ts';
import { createBackoff } from '../../base/backoff.ts';
import type { EventTarget } from '../../client/event-recorder.ts';
import type { KubeletEventRecorder } from '../event-reasons.ts';
import type { ExecResult } from '../../platform/exec.ts';
import type { Platform } from '../../platform/platform.ts';
import { logFailure } from '../../platform/unexpected.ts';

const PERIOD_MS = 10_000;
const DMESG_TIMEOUT_MS = 5_000;
const MAX_RETRY_MS = 600_000;

/** A process that the kernel killed because the machine ran out of memory. */
export interface SystemOom {
  readonly pid: number;
  readonly process: string;
  /** The log line's own time stamp: each kill is reported once. */
  readonly stamp: string;
}

/** Kills in a kernel log that no cgroup's limit caused. */
function systemOoms(kernelLog: string): SystemOom[] {
  return kernelLog.split('\n').flatMap((line) => {
    const match = /^\[\s*([\d.]+)\].*\bOut of memory: Killed process (\d+) \(([^)]*)\)/.exec(line);
    if (match === null || line.includes('Memory cgroup out of memory')) return [];
    return [{ stamp: match[1]!, pid: Number(match[2]), process: match[3]! }];
  });
}

/** Watches until the signal aborts. A machine without the counter is not watched. */
export function startOomWatcher(
  deps: {
    platform: Pick<Platform, 'clock' | 'files' | 'exec' | 'log'>;
    recorder: KubeletEventRecorder;
    nodeRef: EventTarget;
  },
  signal: AbortSignal,
): void {
  const { clock, files, exec, log } = deps.platform;
  /** Kills in the kernel's log when it was read last. */
  let reported: ReadonlySet<string> = new Set<string>();
  let last: number | undefined;
  let looking = false;
  /** A machine may not let its log be read at all. */
  const backoff = createBackoff({ initialMs: PERIOD_MS, maxMs: MAX_RETRY_MS });
  let retryAtMs = 0;

  async function count(): Promise<number | undefined> {
    if (!(await files.exists('/proc/vmstat'))) return undefined;
    const match = /^oom_kill (\d+)$/m.exec(await files.readText('/proc/vmstat'));
    return match === null ? undefined : Number(match[1]);
  }

  async function kills(): Promise<SystemOom[]> {
    const options = { timeoutMs: DMESG_TIMEOUT_MS };
    const raw = await exec.run('dmesg', ['--raw', '--time-format=raw'], options);
    if (isComplete(raw)) return systemOoms(raw.stdout.replace(/^<\d+>/gm, ''));
    const plain = await exec.run('dmesg', [], options);
    if (!isComplete(plain)) throw new Error(`dmesg: ${plain.timedOut ? 'timed out' : plain.stderr.trim()}`);
    return systemOoms(plain.stdout);
  }

  async function checkKills(): Promise<void> {
    const now = await count();
    if (now === undefined || (last !== undefined && now <= last)) return;
    const found = await kills();
    const [before, earlier] = [last, reported];
    last = now;
    reported = new Set(found.map(keyOfKill));
    for (const kill of found) {
      const { pid, process } = kill;
      if (earlier.has(keyOfKill(kill))) continue;
      // Kills before this kubelet began are not reported.
      if (before === undefined) continue;
      const message = `System OOM encountered, victim process: ${process}, pid: ${pid}`;
      deps.recorder.event(deps.nodeRef, 'Warning', 'SystemOOM', message);
    }
  }

  const tick = (): void => {
    if (looking || clock.monotonicMs() < retryAtMs) return;
    looking = true;
    checkKills()
      .then(() => backoff.reset())
      .catch((error: unknown) => {
        retryAtMs = clock.monotonicMs() + backoff.nextMs();
        logFailure(log, 'The kernel log cannot be read for OOM kills', error);
      })
      .finally(() => (looking = false));
  };
  tick();
  onAbort(signal, clock.setTicker(PERIOD_MS, tick));
}

const keyOfKill = ({ stamp, pid }: SystemOom): string => `${stamp}/${pid}`;

function isComplete({ exitCode, timedOut }: ExecResult): boolean {
  return exitCode === 0 && !timedOut;
}
