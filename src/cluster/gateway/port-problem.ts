/** Describes problems of routes' ports, with the programs that hold them. */
import type { DataPlaneReport, ListenerState } from '../../gateway/snapshot/snapshot.ts';
import type { Files } from '../../platform/files.ts';
import { portHolder } from '../instance/preflight.ts';

const IN_USE = 'EADDRINUSE';

/** Adds to the report of this machine's data plane the programs that hold its ports. */
export async function withHolders(files: Files, report: DataPlaneReport): Promise<DataPlaneReport> {
  const withHolder = async (state: ListenerState): Promise<ListenerState> => {
    const holder = state.problem === IN_USE ? await portHolder(files, state.port) : undefined;
    return holder === undefined ? state : { ...state, holder };
  };
  return { ...report, listeners: await Promise.all(report.listeners.map(withHolder)) };
}

/** Undefined when the port serves. `place` is appended to the port, such as ` of node a`. */
export function portProblem({ port, problem, holder }: ListenerState, place = ''): string | undefined {
  if (problem === undefined) return undefined;
  if (problem === IN_USE) return `port ${port} of routes${place} is used by ${holder ?? 'another program'}`;
  return `port ${port} of routes${place} cannot be opened: ${problem}`;
}
