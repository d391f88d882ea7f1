/** The logs of a pod's containers, as the containers come, restart and go. */
import type { ContainerStatus, Pod } from '../../../api/gen/core-v1.ts';
import type { ObjectRef } from '../../api/kinds.ts';
import { followObject } from '../../api/live-object.ts';
import { type ContainerInstance, ContainerLog, type LogState } from './container-log.ts';
import type { LogLine } from './log-buffer.ts';

/** A log that is shown. Its index among all is its lines' `source`. */
export interface LogSource {
  readonly pod: string;
  readonly container: string;
}

/** What is wanted of a pod. */
export interface PodLogsOrder {
  readonly pod: ObjectRef;
  /** '' for all. */
  readonly container: string;
  readonly previous: boolean;
  readonly tailLines: number;
}

export interface PodLogsSink {
  /** A log begins; the answer is its index. */
  source(source: LogSource): number;
  lines(lines: readonly LogLine[]): void;
  state(source: number, state: LogState): void;
  /** All containers that the pod has. */
  containers(names: readonly string[]): void;
  /** The pod cannot be read, or is no more. */
  problem(message: string): void;
}

/** Goes on until the signal. `gone`: what to say of a pod that is not there. */
export async function followPodLogs(
  { pod: ref, container, previous, tailLines }: PodLogsOrder,
  { sink, gone }: { readonly sink: PodLogsSink; readonly gone: string },
  signal: AbortSignal,
): Promise<void> {
  const logs = new Map<string, ContainerLog>();
  const logOf = (name: string, share: number): ContainerLog => {
    const known = logs.get(name);
    if (known !== undefined) return known;
    const source = sink.source({ pod: ref.name, container: name });
    const order = { pod: ref, container: name, previous, tailLines: share, source };
    const heard = { lines: sink.lines, state: (state: LogState) => sink.state(source, state) };
    const log = new ContainerLog(order, heard, signal);
    logs.set(name, log);
    return log;
  };
  const put = (object: object): void => {
    const all = containersOf(object as Pod);
    sink.containers([...all.keys()]);
    const wanted = [...all].filter(([name]) => container === '' || name === container);
    const share = Math.max(1, Math.floor(tailLines / Math.max(1, wanted.length)));
    for (const [name, status] of wanted) logOf(name, share).update(instanceOf(status, previous));
  };
  await followObject(
    { ref },
    { put, gone: () => sink.problem(gone), failed: ({ message }) => sink.problem(message) },
    signal,
  );
}

/** In the order in which they start; ephemeral ones last. */
function containersOf({ spec, status }: Pod): ReadonlyMap<string, ContainerStatus | undefined> {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = spec ?? {};
  const statuses = [
    ...(status?.initContainerStatuses ?? []),
    ...(status?.containerStatuses ?? []),
    ...(status?.ephemeralContainerStatuses ?? []),
  ];
  return new Map(
    [...initContainers, ...containers, ...ephemeralContainers].map(({ name }) => [
      name,
      statuses.find((one) => one.name === name),
    ]),
  );
}

function instanceOf(status: ContainerStatus | undefined, previous: boolean): ContainerInstance {
  const { state, lastState, containerID = '', restartCount = 0 } = status ?? {};
  const waiting = state?.waiting?.reason ?? '';
  if (previous) {
    const id = lastState?.terminated?.containerID ?? '';
    return { id: id || (restartCount > 0 ? containerID : ''), running: false, waiting };
  }
  return { id: containerID, running: state?.running !== undefined, waiting };
}
