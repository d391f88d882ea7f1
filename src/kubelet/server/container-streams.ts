/**
 * Exec, attach and port-forward: gets the stream's URL from the runtime and connects it with the client. Upstream:
 * getExec, getAttach, getPortForward in server.go.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { IdleLimit } from '../../component-helpers/streaming/request-head.ts';
import { isUpgradeRequest, openTunnel } from '../../component-helpers/streaming/upgrade-tunnel.ts';
import type { HttpRequest, HttpResponse } from '../../platform/http.ts';
import type { Net } from '../../platform/net.ts';
import type { Clock } from '../../platform/clock.ts';
import type { InflateRaw } from '../../platform/compression.ts';
import type { ContainerRuntime, ContainerStatus } from '../container/runtime.ts';
import { podUid } from '../types/pod-update.ts';
import type { KubeletHost } from './host.ts';
import { withCheckedFrames } from './checked-frames.ts';
import { ServerError, textResponse } from './text-response.ts';

export interface ContainerStreamDeps {
  readonly host: KubeletHost;
  readonly runtime: Pick<ContainerRuntime, 'execUrl' | 'attachUrl' | 'portForwardUrl' | 'execSync'>;
  readonly net: Net;
  readonly clock: Pick<Clock, 'yield'>;
  /** Absent: SPDY frames are passed to the runtime unchecked. */
  readonly inflate?: InflateRaw | undefined;
  /** Closes streams that are idle for this time. Absent: never. */
  readonly idle?: IdleLimit;
}

interface StreamOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** The pod, by name and optionally uid, and the container from the path. */
function locate(
  deps: ContainerStreamDeps,
  parts: readonly string[],
): { readonly pod: Pod; readonly containerName: string } {
  const [namespace = '', name = ''] = parts;
  const [uid, containerName] = parts.length > 3 ? [parts[2], parts[3]] : [undefined, parts[2]];
  return { pod: findPod(deps, { namespace, name, uid }), containerName: containerName ?? '' };
}

function findPod(
  { host }: ContainerStreamDeps,
  reference: { namespace: string; name: string; uid: string | undefined },
): Pod {
  const pod = host.podByName(reference.namespace, reference.name);
  if (pod === undefined || (reference.uid !== undefined && pod.metadata.uid !== reference.uid))
    throw new ServerError(404, 'pod does not exist');
  return pod;
}

function findRunning({ host }: ContainerStreamDeps, pod: Pod, containerName: string): ContainerStatus {
  const containerStatus = host.podStatus(podUid(pod))?.containers.find(({ name }) => name === containerName);
  if (containerStatus === undefined || containerStatus.state !== 'running')
    throw new ServerError(500, `container not found ("${containerName}")`);
  return containerStatus;
}

function parseOptions(query: URLSearchParams): StreamOptions {
  const flag = (name: string): boolean => query.get(name) === '1' || query.get(name) === 'true';
  const [stdin, stdout, tty] = [flag('input'), flag('output'), flag('tty')];
  // A terminal has a single output stream.
  const stderr = flag('error') && !tty;
  if (!stdin && !stdout && !stderr) throw new ServerError(400, 'you must specify at least 1 of stdin, stdout, stderr');
  return { stdin, stdout, stderr, tty };
}

async function relay(deps: ContainerStreamDeps, request: HttpRequest, url: string): Promise<HttpResponse> {
  if (!/^https?:/.test(url) || !URL.canParse(url))
    throw new ServerError(500, `the runtime's address of the stream is no URL: "${url.slice(0, 200)}"`);
  const { method, headers, signal } = request;
  const answer = await openTunnel(deps.net, { method, url, headers, signal, idle: deps.idle });
  const { inflate, clock } = deps;
  // Runtimes search for the name anywhere in the header.
  if (answer.kind !== 'upgrade' || inflate === undefined || !/spdy/i.test(headers['upgrade'] ?? '')) return answer;
  const pace = { turn: () => undefined, yield: () => clock.yield() };
  return { ...answer, accept: (client) => answer.accept(withCheckedFrames(client, inflate, pace)) };
}

function needUpgrade(request: HttpRequest): void {
  if (!request.wantsUpgrade || !isUpgradeRequest(request.headers))
    throw new ServerError(400, 'Upgrade request required');
}

/** `/exec/{namespace}/{pod}[/{uid}]/{container}`. */
export async function serveExec(
  deps: ContainerStreamDeps,
  request: HttpRequest,
  parts: readonly string[],
): Promise<HttpResponse> {
  needUpgrade(request);
  const query = new URLSearchParams(request.query);
  const options = parseOptions(query);
  const { pod, containerName } = locate(deps, parts);
  const { id } = findRunning(deps, pod, containerName);
  return relay(
    deps,
    request,
    await deps.runtime.execUrl({ containerId: id, command: query.getAll('command'), ...options }),
  );
}

/** `/attach/{namespace}/{pod}[/{uid}]/{container}`. */
export async function serveAttach(
  deps: ContainerStreamDeps,
  request: HttpRequest,
  parts: readonly string[],
): Promise<HttpResponse> {
  needUpgrade(request);
  const options = parseOptions(new URLSearchParams(request.query));
  const { pod, containerName } = locate(deps, parts);
  const { id } = findRunning(deps, pod, containerName);
  // The container's spec decides whether there is a terminal; a wrong value would garble the streams.
  const container = [
    ...(pod.spec?.containers ?? []),
    ...(pod.spec?.initContainers ?? []),
    ...(pod.spec?.ephemeralContainers ?? []),
  ].find(({ name }) => name === containerName);
  const tty = container?.tty ?? false;
  return relay(
    deps,
    request,
    await deps.runtime.attachUrl({ containerId: id, ...options, tty, stderr: options.stderr && !tty }),
  );
}

/** `/portForward/{namespace}/{pod}[/{uid}]`. */
export async function servePortForward(
  deps: ContainerStreamDeps,
  request: HttpRequest,
  parts: readonly string[],
): Promise<HttpResponse> {
  needUpgrade(request);
  const ports = new URLSearchParams(request.query).getAll('port').map(Number);
  if (ports.some((port) => !Number.isInteger(port) || port < 1 || port > 65_535))
    throw new ServerError(400, 'invalid port');
  const [namespace = '', name = '', uid] = parts;
  const pod = findPod(deps, { namespace, name, uid });
  const sandbox = deps.host.podStatus(podUid(pod))?.sandboxes.find(({ ready }) => ready);
  if (sandbox === undefined) throw new ServerError(500, `cannot find a ready sandbox for pod "${name}"`);
  return relay(deps, request, await deps.runtime.portForwardUrl({ podSandboxId: sandbox.id, ports }));
}

/** `/run/{namespace}/{pod}[/{uid}]/{container}?cmd=`: runs a command and answers with its output. */
export async function serveRun(
  deps: ContainerStreamDeps,
  request: HttpRequest,
  parts: readonly string[],
): Promise<HttpResponse> {
  if (request.method !== 'POST') throw new ServerError(405, '405: Method Not Allowed');
  const { pod, containerName } = locate(deps, parts);
  const { id } = findRunning(deps, pod, containerName);
  const command = (new URLSearchParams(request.query).get('cmd') ?? '').split(' ');
  const { stdout, stderr } = await deps.runtime.execSync(id, command, 0);
  return { ...(textResponse(200, '') as Extract<HttpResponse, { kind: 'bytes' }>), chunks: [stdout, stderr] };
}
