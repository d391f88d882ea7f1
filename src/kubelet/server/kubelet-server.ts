/**
 * The kubelet's HTTP API. Upstream: pkg/kubelet/server.
 *
 * Every request is authenticated and authorized before its path is evaluated. Paths that are not supported (debug)
 * answer with that message.
 */
import { errorMessage } from '../../base/errors.ts';
import { LOCAL_VOLUMES_ROUTE } from '../../component-helpers/local-path.ts';
import { POD_ACTIVITY_ROUTE } from '../../api/pod-activity.ts';
import { POD_STATE_ROUTE } from '../../api/pod-node-state.ts';
import { POD_STEPS_ROUTE } from '../../component-helpers/pod-trace/trace-step.ts';
import { statusz } from '../../component-helpers/statusz.ts';
import type { HttpHandler, HttpRequest, HttpResponse } from '../../platform/http.ts';
import { serveContainerLogs } from './container-logs.ts';
import { serveAttach, serveExec, servePortForward, serveRun } from './container-streams.ts';
import { serveCheckpoint } from './checkpoint.ts';
import { serveLocalVolumes } from './local-volumes.ts';
import { createServerRequests } from '../metrics/server-requests.ts';
import { createNodeLogs } from './create-node-logs.ts';
import { attributesOf } from './request-attributes.ts';
import { jsonResponse, ServerError, textResponse } from './text-response.ts';
import type { KubeletServerDeps, ServedDeps } from './kubelet-server-deps.ts';
import { notFound, podList, serveHealthz, serveRunningPods, serveStats, serveMetrics } from './status-routes.ts';

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

type Serve = (deps: ServedDeps, request: HttpRequest, parts: readonly string[]) => Promise<HttpResponse>;

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
    const isKnown = Object.hasOwn(routes, first);
    try {
      const refusal = await checkAccess(deps, request);
      if (refusal !== undefined) return refusal;
      if (!isKnown) return notFound();
      if (deps.debuggingHandlers === false) {
        if (DEBUGGING.includes(first)) return textResponse(405, 'Debug endpoints are disabled.\n');
        // As upstream, only with the debugging handlers: it shows headers of the manifest URL.
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

/** The answer to a caller without access; undefined: the caller has access. */
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

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new ServerError(400, `invalid URL escape in "${part}"`);
  }
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
