/** Handles the data plane of an earlier start, which still serves its last snapshot. */
import type { Platform } from '../../platform/platform.ts';
import { holdsPort } from '../instance/preflight.ts';
import type { Instance } from '../instance/instance.ts';
import type { DataPlaneDaemon } from './data-plane-daemon.ts';
import { gatewayRecord } from './gateway-record.ts';

type DaemonDirs = Pick<Instance, 'runDir' | 'logDir'>;

/** Ends it when it holds a port that this start needs itself. It is started again with the routes, without that port. */
export async function freePorts(
  platform: Platform,
  place: DaemonDirs,
  ports: readonly (number | undefined)[],
): Promise<void> {
  const daemon = await formerDataPlane(platform, place);
  const pid = await daemon?.pid();
  if (daemon === undefined || pid === undefined) return;
  for (const port of ports) {
    if (port === undefined || !(await holdsPort(platform.files, pid, port))) continue;
    platform.log.warn('the process of routes ends: it holds a port that the node needs itself', { port });
    await daemon.remove();
    return;
  }
}

/** Ends it when this start serves no routes. */
export async function endFormerDataPlane(platform: Platform, place: DaemonDirs): Promise<void> {
  await (await formerDataPlane(platform, place))?.remove();
}

async function formerDataPlane(platform: Platform, place: DaemonDirs): Promise<DataPlaneDaemon | undefined> {
  if (!(await platform.files.exists(gatewayRecord(place)))) return undefined;
  const { DataPlaneDaemon: Daemon } = await import('./data-plane-daemon.ts');
  return new Daemon(platform, place, () => undefined);
}
