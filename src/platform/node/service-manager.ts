/**
 * systemd, by the environment of its services: NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID. Notifications are
 * datagrams on a unix socket, which Node.js cannot send: systemd's own program does, on behalf of the process that
 * systemd started. Upstream: coreos/go-systemd/daemon.
 */
import type { Exec } from '../exec.ts';
import type { ServiceManager } from '../service-manager.ts';

export interface ServiceManagerDeps {
  readonly exec: Pick<Exec, 'run'>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The process that systemd started and expects messages from. */
  readonly pid: number;
}

/** The process that systemd started: this one, or its supervisor or launcher. */
export function managedPid(
  env: ServiceManagerDeps['env'],
  own: { readonly pid: number; readonly ppid: number },
): number {
  const { KEELSON_LAUNCHER_PID: launcher = '', KEELSON_SUPERVISOR: supervisor } = env;
  return launcher !== '' && [launcher, supervisor].includes(String(own.ppid)) ? Number(launcher) : own.pid;
}

const TIMEOUT_MS = 5000;

/** Makes the port; no program runs before the first message. */
export function createServiceManager({ exec, env, pid }: ServiceManagerDeps): ServiceManager {
  return {
    watchdogMs() {
      const { WATCHDOG_USEC: period = '', WATCHDOG_PID: watched = '' } = env;
      if (period === '') return undefined;
      const microseconds = integer('WATCHDOG_USEC', period);
      if (microseconds <= 0) throw new Error('error WATCHDOG_USEC must be a positive number');
      // The watchdog was meant for another process, such as the parent.
      if (watched !== '' && integer('WATCHDOG_PID', watched) !== pid) return undefined;
      return microseconds / 1000;
    },
    async notify(state) {
      const socket = env['NOTIFY_SOCKET'] ?? '';
      if (socket === '') return;
      const result = await exec.run('systemd-notify', ['--no-block', `--pid=${pid}`, state], {
        env: { NOTIFY_SOCKET: socket },
        timeoutMs: TIMEOUT_MS,
      });
      if (result.exitCode !== 0)
        throw new Error(`systemd-notify ${state}: exit code ${result.exitCode}: ${result.stderr.trim()}`);
    },
  };
}

function integer(name: string, text: string): number {
  if (!/^[+-]?\d+$/.test(text)) throw new Error(`error converting ${name}: ${JSON.stringify(text)} is not a number`);
  return Number(text);
}
