/** Follows the logs of a pod's containers while containers start, restart and end. */
import type { ContainerStatus, Pod } from '../../../api/gen/core-v1.ts';
import type { ObjectRef } from '../../api/kinds.ts';
import { followObject } from '../../api/live-object.ts';
import { type ContainerInstance, ContainerLog, type LogState } from './container-log.ts';
import type { LogLine } from './log-buffer.ts';

/** A log that is shown. Its index in the list is the `source` of its lines. */
export interface LogSource {
  readonly pod: string;
  readonly container: string;
}

/** The logs to follow of a pod. */
export interface PodLogsOrder {
  readonly pod: ObjectRef;
  /** '' for all containers. */
  readonly container: string;
  readonly previous: boolean;
  readonly tailLines: number;
}

export interface PodLogsSink {
  /** Called when a log begins; returns its index. */
  source(source: LogSource): number;
  lines(lines: readonly LogLine[]): void;
  state(source: number, state: LogState): void;
  /** Called with the names of all containers of the pod. */
  containers(names: readonly string[]): void;
  /** The pod cannot be read, or was deleted. */
  problem(message: string): void;
  /** The pod can be read again. */
  solved(message: string): void;
}

/** Continues until the signal aborts. `gone`: the text for a pod that does not exist. */
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
    const podSink = { lines: sink.lines, state: (state: LogState) => sink.state(source, state) };
    const log = new ContainerLog(order, podSink, signal);
    logs.set(name, log);
    return log;
  };
  let failure = '';
  const put = (object: object): void => {
    if (failure !== '') sink.solved(failure);
    failure = '';
    const all = containersOf(object as Pod);
    sink.containers([...all.keys()]);
    const wanted = [...all].filter(([name]) => container === '' || name === container);
    const share = Math.max(1, Math.floor(tailLines / Math.max(1, wanted.length)));
    for (const [name, status] of wanted) logOf(name, share).update(instanceOf(status, previous));
  };
  await followObject(
    { ref },
    {
      put,
      gone: () => sink.problem(gone),
      failed({ message }) {
        failure = message;
        sink.problem(message);
      },
    },
    signal,
  );
}

/** Containers in the order in which they start; ephemeral ones last. */
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
