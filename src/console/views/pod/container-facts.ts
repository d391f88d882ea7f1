/** Formats the spec and status of each container of a pod. */
import type { Container, ContainerState, ContainerStatus, Pod, Probe } from '../../../api/gen/core-v1.ts';
import { texts } from '../../app/texts.ts';

export type ContainerRole = 'init' | 'sidecar' | 'main' | 'ephemeral';

export interface ShownContainer {
  readonly role: ContainerRole;
  readonly spec: Container;
  /** Absent until the kubelet reports it. */
  readonly status?: ContainerStatus | undefined;
}

/** Containers in the order in which they start. */
export function containersOf({ spec, status }: Pod): readonly ShownContainer[] {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = spec ?? {};
  const { initContainerStatuses = [], containerStatuses = [], ephemeralContainerStatuses = [] } = status ?? {};
  const find = (role: ContainerRole, container: Container, statuses: readonly ContainerStatus[]): ShownContainer => {
    return { role, spec: container, status: statuses.find(({ name }) => name === container.name) };
  };
  return [
    ...initContainers.map((one) =>
      find(one.restartPolicy === 'Always' ? 'sidecar' : 'init', one, initContainerStatuses),
    ),
    ...containers.map((one) => find('main', one, containerStatuses)),
    ...ephemeralContainers.map((one) => find('ephemeral', one as Container, ephemeralContainerStatuses)),
  ];
}

/** The name of a state, its start, and its details. */
export interface StateWords {
  readonly word: string;
  readonly sinceMs: number;
  readonly detail: string;
}

export function stateWords(state: ContainerState | undefined): StateWords {
  const { running, waiting, terminated } = state ?? {};
  const time = (text: string | null | undefined): number => (text == null ? 0 : Date.parse(text));
  if (running !== undefined) return { word: 'Running', sinceMs: time(running.startedAt), detail: '' };
  if (terminated !== undefined) {
    const { exitCode, signal = 0, reason = '', message = '', finishedAt } = terminated;
    const code = signal === 0 ? texts.pod.exitCode(exitCode) : texts.pod.signal(signal);
    const word = reason || (exitCode === 0 ? 'Completed' : 'Error');
    return { word, sinceMs: time(finishedAt), detail: [code, message.trim()].filter((text) => text !== '').join(': ') };
  }
  return { word: waiting?.reason ?? 'Waiting', sinceMs: 0, detail: waiting?.message ?? '' };
}

/** A probe: `GET :8080/healthz every 10 s, 3 failures in a row`. */
export function probeWords(probe: Probe): string {
  const { periodSeconds = 10, timeoutSeconds = 1, failureThreshold = 3, initialDelaySeconds = 0 } = probe;
  return [
    probeTarget(probe),
    texts.pod.every(periodSeconds, timeoutSeconds, failureThreshold),
    ...(initialDelaySeconds > 0 ? [texts.pod.after(initialDelaySeconds)] : []),
  ].join(', ');
}

function probeTarget({ httpGet, tcpSocket, grpc, exec }: Probe): string {
  if (httpGet !== undefined)
    return `GET ${httpGet.scheme === 'HTTPS' ? 'https ' : ''}${httpGet.host ?? ''}:${httpGet.port}${httpGet.path ?? '/'}`;
  if (tcpSocket !== undefined) return `TCP ${tcpSocket.host ?? ''}:${tcpSocket.port}`;
  if (grpc !== undefined) return `gRPC :${grpc.port}${grpc.service ? ` ${grpc.service}` : ''}`;
  return (exec?.command ?? []).join(' ');
}

/** A text for each resource: `cpu 100m of at most 1`. */
export function resourceWords({ resources }: Container): readonly string[] {
  const { requests = {}, limits = {} } = resources ?? {};
  return [...new Set([...Object.keys(requests), ...Object.keys(limits)])]
    .sort()
    .map((name) => texts.pod.resource(name, requests[name], limits[name]));
}
