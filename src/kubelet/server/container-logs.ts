/**
 * `/containerLogs/{namespace}/{pod}/{container}`: chooses the container and streams its log. Upstream:
 * getContainerLogs in server.go, GetKubeletContainerLogs in kubelet_pods.go.
 */
import { podUid } from '../types/pod-update.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { parseTime } from '../../api/time.ts';
import { errorMessage } from '../../base/errors.ts';
import { parseGoBoolean } from '../../base/go-boolean.ts';
import type { Files } from '../../platform/files.ts';
import type { HttpRequest, HttpResponse } from '../../platform/http.ts';
import type { Platform } from '../../platform/platform.ts';
import type { ContainerRuntime, ContainerStatus } from '../container/runtime.ts';
import { readContainerLog, type ReadLogOptions } from '../logs/read-container-log.ts';
import { findContainer } from '../runtime/pod-facts.ts';
import type { KubeletHost } from './host.ts';
import { ServerError } from './text-response.ts';

export interface ContainerLogDeps {
  readonly host: KubeletHost;
  readonly runtime: Pick<ContainerRuntime, 'containerLogPath'>;
  readonly platform: Pick<Platform, 'files' | 'clock'>;
}

/** The parameters of the query. */
interface LogQuery extends ReadLogOptions {
  readonly previous: boolean;
}

/** Answers a log request. Rejects with ServerError. */
export async function serveContainerLogs(
  deps: ContainerLogDeps,
  request: HttpRequest,
  parts: readonly string[],
): Promise<HttpResponse> {
  const [namespace = '', podName = '', containerName = ''] = parts;
  if (podName === '') throw new ServerError(400, '{"message": "Missing podID."}');
  if (containerName === '') throw new ServerError(400, '{"message": "Missing container name."}');
  const query = parseQuery(request.query, deps.platform.clock.nowMs());
  const pod = deps.host.podByName(namespace, podName);
  if (pod === undefined) throw new ServerError(404, `pod "${podName}" does not exist`);
  if (findContainer(pod, containerName) === undefined)
    throw new ServerError(404, `container "${containerName}" not found in pod "${podName}"`);
  const container = chooseContainer(deps, { pod, containerName, previous: query.previous });
  const path = await deps.runtime.containerLogPath(container.id);
  const problem = await problemOf(deps.platform.files, path);
  if (problem !== undefined)
    throw new ServerError(
      400,
      `failed to open log file of container "${containerName}" in pod "${podName}": ${problem}`,
    );
  const uid = podUid(pod);
  const isRunning = (): Promise<boolean> =>
    Promise.resolve(
      deps.host.podStatus(uid)?.containers.some(({ id, state }) => id === container.id && state === 'running') ?? false,
    );
  return {
    kind: 'stream',
    status: 200,
    headers: { 'content-type': 'text/plain' },
    run: (sink) => readContainerLog({ path, sink, signal: request.signal }, query, { ...deps.platform, isRunning }),
  };
}

/** Why the log cannot be read; the message does not name its path. Undefined: it can. */
async function problemOf(files: Files, path: string): Promise<string | undefined> {
  try {
    return path !== '' && (await files.exists(path)) ? undefined : 'file does not exist';
  } catch (error) {
    return errorMessage(error).split(',', 1)[0];
  }
}

function parseQuery(text: string, nowMs: number): LogQuery {
  const query = new URLSearchParams(text);
  const flag = (name: string): boolean => {
    const value = query.get(name);
    if (value === null) return false;
    const parsed = value === '' ? true : parseGoBoolean(value);
    if (parsed === undefined) throw new ServerError(400, '{"message": "Unable to decode query."}');
    return parsed;
  };
  const number = (name: string, least: number): number | undefined => {
    const value = query.get(name);
    if (value === null || value === '') return undefined;
    if (!/^[+-]?\d+$/.test(value)) throw new ServerError(400, '{"message": "Unable to decode query."}');
    if (Number(value) < least) throw new ServerError(422, `{"message": "Invalid request."}`);
    return Number(value);
  };
  const tail = query.get('tail') ?? query.get('tailLines');
  const tailLines = tail === null || tail === 'all' ? undefined : number(query.has('tail') ? 'tail' : 'tailLines', 0);
  const sinceSeconds = number('sinceSeconds', 1);
  const sinceTime = query.get('sinceTime');
  const sinceMs =
    sinceSeconds === undefined ? (sinceTime ? parseTime(sinceTime) : undefined) : nowMs - sinceSeconds * 1000;
  if (Number.isNaN(sinceMs)) throw new ServerError(400, '{"message": "Unable to decode query."}');
  const limitBytes = number('limitBytes', 1);
  const stream = query.get('stream') || 'All';
  if (stream !== 'All' && stream !== 'Stdout' && stream !== 'Stderr')
    throw new ServerError(422, '{"message": "Invalid request."}');
  return {
    previous: flag('previous'),
    follow: flag('follow'),
    timestamps: flag('timestamps'),
    stream,
    tailLines,
    sinceMs,
    limitBytes,
  };
}

/** The current container, or the previous one. Upstream: validateContainerLogStatus. */
function chooseContainer(
  deps: ContainerLogDeps,
  request: { pod: Pod; containerName: string; previous: boolean },
): ContainerStatus {
  const { pod, containerName, previous } = request;
  const about = `"${containerName}" in pod "${pod.metadata.name}"`;
  const all = (deps.host.podStatus(podUid(pod))?.containers ?? []).filter(
    ({ name, state }) => name === containerName && state !== 'unknown',
  );
  // A created container that never ran has no log.
  const ran = all.filter(({ state }) => state !== 'created');
  if (!previous && all[0] !== undefined && ran[0] === all[0]) return ran[0];
  const reported = reportedState(pod, containerName);
  if (previous) {
    const dead =
      all[0]?.state === 'running' || reported.waiting !== undefined
        ? ran.find(({ state }) => state === 'exited')
        : ran[1];
    if (dead === undefined) throw new ServerError(400, `previous terminated container ${about} not found`);
    return dead;
  }
  // In back-off the last run's log is shown.
  const waiting = reported.waiting;
  if (ran[0] !== undefined) return ran[0];
  if (waiting === 'ErrImagePull')
    throw new ServerError(400, `container ${about} is waiting to start: image can't be pulled`);
  if (waiting === 'ImagePullBackOff')
    throw new ServerError(400, `container ${about} is waiting to start: trying and failing to pull image`);
  throw new ServerError(
    400,
    waiting === undefined
      ? `container ${about} is not available`
      : `container ${about} is waiting to start: ${waiting}`,
  );
}

function reportedState(pod: Pod, containerName: string): { readonly waiting?: string } {
  const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = pod.status ?? {};
  const status = [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses].find(
    ({ name }) => name === containerName,
  );
  if (status === undefined) return { waiting: 'ContainerCreating' };
  const waiting = status.state?.waiting?.reason;
  return waiting === undefined ? {} : { waiting };
}
