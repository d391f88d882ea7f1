/** Supervision of an instance: reports its last end, and records, replaces and ends its supervisor. */
import type { RestartStatus } from '../cluster/cluster-status.ts';
import { forgetSupervisor, writeSupervisorRecord, supervisorOf } from '../cluster/instance/supervisor-record.ts';
import type { Platform } from '../platform/platform.ts';
import { prepareCrashReports, reportOfError, reportOfLastEnd, writeCrashReport } from './crash-reports.ts';
import { reportCrashes } from './last-net.ts';
import { keepSupervisor, supervision } from './supervision.ts';

type Deps = Pick<Platform, 'log' | 'clock' | 'exec'> & {
  underWay(): readonly string[];
  /** Starts an orderly stop. */
  end(): void;
};

export interface SupervisedInstance {
  /** The restart that started this run. */
  readonly last?: RestartStatus;
  /** Called when all work of this process has ended, before the lock is released. */
  end(): void;
}

/** Called after the lock was acquired. */
export async function superviseInstance(deps: Deps, dataDir: string): Promise<SupervisedInstance> {
  const { log } = deps;
  prepareCrashReports(dataDir);
  reportCrashes((error, origin) => {
    const file = writeCrashReport(dataDir, reportOfError(error, deps.underWay()));
    log.unexpected('An unexpected error ends the process', error, { origin, file });
  });
  await endFormerSupervisor(deps, dataDir);
  const last = lastRestart(dataDir);
  if (last !== undefined) log.warn('Keelson was restarted after an abnormal end', { ...last });
  const endSupervisor = keepSupervisor({
    hasServiceManager: hasServiceManager(),
    lost: () => log.error('The supervisor of this process ended'),
    stop: deps.end,
    found: (pid) => writeSupervisorRecord(dataDir, pid),
  });
  return {
    last,
    end() {
      endSupervisor();
      forgetSupervisor(dataDir);
    },
  };
}

/** Message of the `KeelsonRestarted` event. */
export function restartMessage({ count, lastEnd, report }: RestartStatus): string {
  return `Keelson ended abnormally (${lastEnd}) and was started again, restart ${count}; report: ${report}`;
}

/** Ends the supervisor that a former run left: this process holds the lock and has its own supervisor, or wants none. */
async function endFormerSupervisor({ clock, exec, log }: Deps, dataDir: string): Promise<void> {
  const former = supervisorOf(dataDir);
  if (former === undefined || former === process.ppid) return;
  log.warn('Ending the supervisor of a former run', { pid: former });
  exec.kill(former, 'SIGTERM');
  for (let tries = 0; tries < 100 && supervisorOf(dataDir) === former; tries++) await clock.sleep(10);
}

function lastRestart(dataDir: string): RestartStatus | undefined {
  const { restarts = 0, lastEnd } = supervision ?? {};
  if (lastEnd === undefined) return undefined;
  const { path, end } = reportOfLastEnd(dataDir, lastEnd);
  return { count: restarts, lastTime: new Date().toISOString(), lastEnd: end, report: path };
}

/** Whether systemd started the supervisor and restarts the unit when it ends. */
function hasServiceManager(): boolean {
  const { NOTIFY_SOCKET: socket = '', SYSTEMD_EXEC_PID: started } = process.env;
  return socket !== '' || started === String(process.ppid);
}
