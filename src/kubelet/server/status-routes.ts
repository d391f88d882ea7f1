/**
 * The documents about the kubelet: health, running pods, statistics and metrics. Upstream: the handlers of
 * pkg/kubelet/server/server.go.
 */
import type { HttpRequest, HttpResponse } from '../../platform/http.ts';
import { jsonResponse, textResponse } from './text-response.ts';
import type { KubeletServerDeps } from './kubelet-server-deps.ts';

const METRICS_TYPE = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' };

export function notFound(): HttpResponse {
  return textResponse(404, '404 page not found\n');
}

export function podList(items: readonly object[]): object {
  return { kind: 'PodList', apiVersion: 'v1', metadata: {}, items };
}

export async function serveHealthz(
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

/** The pods of the runtime, desired or not. */
export async function serveRunningPods({ runtime }: KubeletServerDeps): Promise<HttpResponse> {
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

export async function serveStats(
  { stats }: KubeletServerDeps,
  request: HttpRequest,
  parts: readonly string[],
): Promise<HttpResponse> {
  if (parts.length !== 1 || parts[0] !== 'summary') return notFound();
  const onlyCpuAndMemory = new URLSearchParams(request.query).get('only_cpu_and_memory') === 'true';
  return jsonResponse(await stats.summary({ onlyCpuAndMemory }));
}

export async function serveMetrics(
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
