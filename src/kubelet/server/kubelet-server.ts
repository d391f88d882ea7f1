/**
 * The kubelet's HTTP API. Upstream: pkg/kubelet/server.
 *
 * Every path is authenticated and authorized before it is looked at. What is not served (debug) says so.
 */
import { errorMessage } from '../../base/errors.ts';
import { LOCAL_VOLUMES_ROUTE } from '../../component-helpers/local-path.ts';
import { POD_ACTIVITY_ROUTE } from '../../api/pod-activity.ts';
import { POD_STATE_ROUTE } from '../../api/pod-node-state.ts';
import { POD_STEPS_ROUTE } from '../../component-helpers/pod-trace/trace-step.ts';
import { statusz } from '../../component-helpers/statusz.ts';
import type { HttpHandler, HttpRequest, HttpResponse } from '../../platform/http.ts';
import type { Platform } from '../../platform/platform.ts';
import type { ContainerRuntime } from '../container/runtime.ts';
import type { StatsProvider } from '../stats/stats-provider.ts';
import { serveContainerLogs } from './container-logs.ts';
import { serveAttach, serveExec, servePortForward, serveRun } from './container-streams.ts';
import { serveCheckpoint } from './checkpoint.ts';
import { serveLocalVolumes } from './local-volumes.ts';
import { createServerRequests } from '../metrics/server-requests.ts';
import type { KubeletHost } from './host.ts';
import type { KubeletAuth } from './kubelet-auth.ts';
import { createNodeLogs, type NodeLogs } from './create-node-logs.ts';
import { attributesOf } from './request-attributes.ts';
import { jsonResponse, ServerError, textResponse } from './text-response.ts';

export interface KubeletServerDeps {
  readonly host: KubeletHost;
  readonly runtime: ContainerRuntime;
  readonly auth: KubeletAuth;
  readonly stats: Omit<StatsProvider, 'node'>;
  readonly platform: Pick<Platform, 'clock' | 'compression' | 'files' | 'exec' | 'net' | 'log' | 'metrics'>;
  /** Counters of probes in Prometheus text, for /metrics/probes. */
  readonly probeMetrics: () => Promise<string>;
  /** This is the read-only server. */
  readonly readOnly?: boolean;
  /** Where checkpoints of containers are kept; absent: none are made. */
  readonly checkpointDirectory?: string;
  /** Where directories of local-path volumes are; absent: none are removed. */
  readonly localPathRoot?: string;
  /** False: exec, attach, logs and port-forward are not served. Upstream's enableDebuggingHandlers. */
  readonly debuggingHandlers?: boolean;
  /** Idle time after which exec, attach and port-forward end. Absent: never. */
  readonly streamIdleTimeoutMs?: number;
  /** The folder of the node's own logs; absent: they are not served. Upstream's enableSystemLogHandler. */
  readonly systemLogDirectory?: string;
  /** Logs of the node's services are served by queries. Upstream's enableSystemLogQuery. */
  readonly systemLogQuery?: boolean;
}

const DEBUGGING = [
  'containerLogs',
  'exec',
  'attach',
  'portForward',
  'run',
  'checkpoint',
  'logs',
  'debug',
  'runningpods',
  POD_STATE_ROUTE,
  POD_ACTIVITY_ROUTE,
];

/** With when the server began, and its logs of the node. */
type ServedDeps = KubeletServerDeps & { readonly startedMs: number; readonly nodeLogs: NodeLogs | undefined };
type Serve = (deps: ServedDeps, request: HttpRequest, parts: readonly string[]) => Promise<HttpResponse>;

const METRICS_TYPE = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' };

const routes: Readonly<Record<string, Serve>> = {
  '': async () => notFound(),
  healthz: serveHealthz,
  pods: async ({ host }) => jsonResponse(podList(host.pods())),
  runningpods: serveRunningPods,
  containerLogs: ({ host, runtime, platform }, request, parts) =>
    serveContainerLogs({ host, runtime, platform }, request, parts),
  exec: (deps, request, parts) => serveExec(streamDeps(deps), request, parts),
  attach: (deps, request, parts) => serveAttach(streamDeps(deps), request, parts),
  portForward: (deps, request, parts) => servePortForward(streamDeps(deps), request, parts),
  run: (deps, request, parts) => serveRun(streamDeps(deps), request, parts),
  stats: serveStats,
  metrics: serveMetrics,
  configz: async ({ host }) => jsonResponse(host.configz()),
  statusz: serveKubeletStatusz,
  checkpoint: ({ host, runtime, platform, checkpointDirectory }, request, parts) =>
    checkpointDirectory === undefined
      ? Promise.resolve(notFound())
      : serveCheckpoint({ host, runtime, platform, directory: checkpointDirectory }, request, parts),
  [LOCAL_VOLUMES_ROUTE]: ({ platform, localPathRoot }, request, parts) =>
    localPathRoot === undefined
      ? Promise.resolve(notFound())
      : serveLocalVolumes({ files: platform.files, root: localPathRoot }, request, parts),
  [POD_STEPS_ROUTE]: async ({ host }, _request, [namespace = '', name = '', ...more]) => {
    const steps = more.length > 0 ? undefined : host.stepsOf(namespace, name);
    return steps === undefined ? notFound() : jsonResponse(steps);
  },
  [POD_STATE_ROUTE]: async ({ host }, _request, [namespace = '', name = '', ...more]) => {
    const state = more.length > 0 ? undefined : host.stateOf(namespace, name);
    return state === undefined ? notFound() : jsonResponse(state);
  },
  [POD_ACTIVITY_ROUTE]: async ({ host }, _request, [namespace = '', name = '', ...more]) => {
    const activity = more.length > 0 ? undefined : host.activityOf(namespace, name);
    return activity === undefined ? notFound() : jsonResponse(activity);
  },
  logs: async ({ nodeLogs }, request, parts) =>
    nodeLogs === undefined ? textResponse(405, 'logs endpoint is disabled.\n') : nodeLogs(request, parts),
  debug: async () => textResponse(501, 'profiling is not served'),
};

/** Makes the handler of the kubelet's port. */
export function createKubeletServer(serverDeps: KubeletServerDeps): HttpHandler {
  const { platform, systemLogDirectory: root, systemLogQuery: queries = false } = serverDeps;
  const nodeLogs = root === undefined ? undefined : createNodeLogs({ platform, root, queries });
  const deps: ServedDeps = { ...serverDeps, startedMs: platform.clock.nowMs(), nodeLogs };
  const measure = createServerRequests(deps.platform, deps.readOnly === true ? 'readonly' : 'readwrite');
  const log = deps.platform.log.child('server');
  const answer = async (request: HttpRequest): Promise<HttpResponse> => {
    const [, first = '', ...rest] = request.path.split('/');
    const known = Object.hasOwn(routes, first);
    try {
      const refusal = await checkAccess(deps, request);
      if (refusal !== undefined) return refusal;
      if (!known) return notFound();
      if (deps.debuggingHandlers === false) {
        if (DEBUGGING.includes(first)) return textResponse(405, 'Debug endpoints are disabled.\n');
        // Upstream installs it with the debugging handlers: it shows headers of the manifest URL.
        if (first === 'configz') return notFound();
      }
      return await routes[first]!(deps, request, rest.filter((part) => part !== '').map(decode));
    } catch (error) {
      if (error instanceof ServerError) return textResponse(error.status, error.message);
      log.error('Request failed', { path: request.path, err: error });
      return textResponse(500, errorMessage(error));
    }
  };
  return (request) => {
    const [, first = ''] = request.path.split('/');
    return measure(request, Object.hasOwn(routes, first) ? first : 'other', () => answer(request));
  };
}

/** The answer to who may not; undefined: go on. */
async function checkAccess(
  { auth, host, platform }: KubeletServerDeps,
  request: HttpRequest,
): Promise<HttpResponse | undefined> {
  const principal = await auth.authenticate(request);
  if (principal === undefined) return textResponse(401, 'Unauthorized');
  const wanted = attributesOf(request.method, request.path);
  for (const { verb, subresource } of wanted) if (await auth.authorize(principal, verb, subresource)) return undefined;
  const { verb = '' } = wanted[0] ?? {};
  const subresources = wanted.map(({ subresource }) => subresource).join(' ');
  platform.log.info('Forbidden', {
    user: principal.name,
    verb,
    resource: 'nodes',
    subresource: subresources,
    node: host.nodeName,
  });
  return textResponse(
    403,
    `Forbidden (user=${principal.name}, verb=${verb}, resource=nodes, subresource(s)=[${subresources}])\n`,
  );
}

function streamDeps(deps: KubeletServerDeps): Parameters<typeof serveExec>[0] {
  const { host, runtime, platform, streamIdleTimeoutMs: timeoutMs = 0 } = deps;
  const { clock, net, compression } = platform;
  const idle = timeoutMs > 0 ? { clock, timeoutMs } : undefined;
  return { host, runtime, net, clock, inflate: compression.inflateRaw, idle };
}

function notFound(): HttpResponse {
  return textResponse(404, '404 page not found\n');
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new ServerError(400, `invalid URL escape in "${part}"`);
  }
}

function podList(items: readonly object[]): object {
  return { kind: 'PodList', apiVersion: 'v1', metadata: {}, items };
}

async function serveHealthz(
  { host }: KubeletServerDeps,
  request: HttpRequest,
  parts: readonly string[],
): Promise<HttpResponse> {
  const checks = ['ping', 'log', 'syncloop'];
  if (parts.length > 1 || (parts.length === 1 && !checks.includes(parts[0]!))) return notFound();
  const problems = parts[0] === 'ping' || parts[0] === 'log' ? [] : host.healthProblems();
  const verbose = new URLSearchParams(request.query).has('verbose');
  if (problems.length === 0 && !verbose) return textResponse(200, 'ok');
  const lines = checks.map((name) =>
    name === 'syncloop' && problems.length > 0 ? `[-]syncloop failed: ${problems.join('; ')}` : `[+]${name} ok`,
  );
  return textResponse(
    problems.length === 0 ? 200 : 500,
    `${lines.join('\n')}\nhealthz check ${problems.length === 0 ? 'passed' : 'failed'}\n`,
  );
}

async function serveKubeletStatusz(
  { startedMs, platform }: ServedDeps,
  request: HttpRequest,
  parts: readonly string[],
): Promise<HttpResponse> {
  if (parts.length > 0) return notFound();
  const paths = Object.keys(routes).map((route) => `/${route}`);
  const page = { component: 'kubelet', startedMs, nowMs: platform.clock.nowMs(), paths };
  const { status, contentType, body } = statusz(request.headers['accept'], page);
  return textResponse(status, body, { 'content-type': contentType });
}

/** The pods of the runtime, desired or not. */
async function serveRunningPods({ runtime }: KubeletServerDeps): Promise<HttpResponse> {
  const pods = await runtime.getPods(false);
  const images = new Map<string, string>();
  for (const pod of pods) {
    const status = await runtime.getPodStatus(pod.uid, pod.name, pod.namespace);
    for (const container of status.containers) images.set(container.id, container.image);
  }
  return jsonResponse(
    podList(
      pods.map(({ uid, name, namespace, containers }) => ({
        metadata: { name, namespace, uid },
        spec: {
          containers: containers.map((container) => ({
            name: container.name,
            image: images.get(container.id) ?? '',
            resources: {},
          })),
        },
        status: {},
      })),
    ),
  );
}

async function serveStats(
  { stats }: KubeletServerDeps,
  request: HttpRequest,
  parts: readonly string[],
): Promise<HttpResponse> {
  if (parts.length !== 1 || parts[0] !== 'summary') return notFound();
  const onlyCpuAndMemory = new URLSearchParams(request.query).get('only_cpu_and_memory') === 'true';
  return jsonResponse(await stats.summary({ onlyCpuAndMemory }));
}

async function serveMetrics(
  deps: KubeletServerDeps,
  _request: HttpRequest,
  parts: readonly string[],
): Promise<HttpResponse> {
  const { stats, platform, probeMetrics } = deps;
  const sources: Readonly<Record<string, () => Promise<string>>> = {
    '': async () => `${(await platform.metrics.expose()).trimEnd()}\n${await stats.kubeletMetrics()}`,
    cadvisor: () => stats.cadvisorMetrics(),
    resource: () => stats.resourceMetrics(),
    probes: probeMetrics,
  };
  const name = parts.join('/');
  return Object.hasOwn(sources, name) ? textResponse(200, await sources[name]!(), METRICS_TYPE) : notFound();
}
