/**
 * A standalone scheduler against any API server: leader election by a Lease, the scheduler only while leading, and a
 * port for health, metrics and explanations. Upstream: cmd/kube-scheduler/app/server.go.
 */
import { aborted } from '../../base/abort.ts';
import { textResponse } from './text-response.ts';
import type { Client } from '../../client/client.ts';
import { EventSeriesBroadcaster } from '../../client/event-series-broadcaster.ts';
import { createInformerFactory } from '../../client/informer-factory.ts';
import { runLeaderElection } from '../../client/leader-election.ts';
import type { ExplainPod } from '../../component-helpers/pod-why.ts';
import type { HttpHandler, HttpResponse } from '../../platform/http.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import type { LeaderElectionSettings } from '../../scheduler/config/read-config.ts';
import type { SchedulerConfig } from '../../scheduler/config/scheduler-config.ts';
import type { Extender } from '../../scheduler/extenders/extender.ts';
import { createScheduler } from '../../scheduler/scheduler.ts';
import { serveStatusz } from './serve-statusz.ts';

export interface StandaloneSchedulerDeps {
  readonly platform: BasePlatform;
  readonly client: Client;
  readonly extenders: readonly Extender[];
}

export interface StandaloneSchedulerConfig {
  readonly scheduler: SchedulerConfig;
  readonly leaderElection: LeaderElectionSettings;
  /** The name of this machine, which events show. */
  readonly hostName: string;
  /** Unique among candidates: host name and a random part. */
  readonly identity: string;
}

export interface StandaloneScheduler {
  /** Resolves when the signal aborts (to `stopped`), or when leadership is lost: the process must then exit. */
  run(signal: AbortSignal): Promise<'stopped' | 'leadership lost'>;
  /** Whether this instance leads. */
  leads(): boolean;
  /** Serves /healthz, /livez, /readyz, /metrics, /statusz and /why/NAMESPACE/NAME. */
  readonly http: HttpHandler;
}

/** Nothing runs before `run`. */
export function createStandaloneScheduler(
  deps: StandaloneSchedulerDeps,
  config: StandaloneSchedulerConfig,
): StandaloneScheduler {
  const { platform, client } = deps;
  const { clock, random, log, metrics } = platform;
  const running: { why?: ExplainPod } = {};
  const lead = async (signal: AbortSignal): Promise<void> => {
    const sources = { client, clock, random, log };
    const events = new EventSeriesBroadcaster({ ...sources, hostName: config.hostName });
    events.start(signal);
    const scheduler = createScheduler(
      {
        client,
        platform,
        extenders: deps.extenders,
        informers: createInformerFactory(sources),
        recorderFor: (component) => events.recorderFor(component),
      },
      config.scheduler,
    );
    running.why = scheduler.why;
    try {
      await scheduler.start(signal);
      await aborted(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      delete running.why;
    }
  };
  const { leaderElect, leaseDurationMs, renewDeadlineMs, retryPeriodMs, resourceName, resourceNamespace } =
    config.leaderElection;
  return {
    leads: () => running.why !== undefined,
    http: createHandler({ metrics, clock, why: () => running.why }),
    async run(signal) {
      if (leaderElect)
        await runLeaderElection(
          { client, clock, random: random.fork('leader-election'), log, metrics },
          {
            namespace: resourceNamespace,
            name: resourceName,
            identity: config.identity,
            leaseDurationMs,
            renewDeadlineMs,
            retryPeriodMs,
            lead,
          },
          signal,
        );
      else await lead(signal);
      return signal.aborted ? 'stopped' : 'leadership lost';
    },
  };
}

function createHandler({
  metrics,
  clock,
  why,
}: Pick<BasePlatform, 'metrics' | 'clock'> & { readonly why: () => ExplainPod | undefined }): HttpHandler {
  const statusz = serveStatusz(clock, 'kube-scheduler', ['/healthz', '/livez', '/metrics', '/readyz', '/why']);
  return async ({ method, path, headers }) => {
    if (method !== 'GET' && method !== 'HEAD') return textResponse(405, 'method not allowed');
    if (path === '/statusz') return statusz(headers['accept']);
    if (['/healthz', '/livez', '/readyz'].includes(path)) return textResponse(200, 'ok');
    if (path === '/metrics') return textResponse(200, await metrics.expose());
    const [, namespace, name] = /^\/why\/([^/]+)\/([^/]+)$/.exec(path) ?? [];
    if (namespace === undefined || name === undefined) return textResponse(404, '404 page not found');
    const explain = why();
    if (explain === undefined) return textResponse(503, 'another instance leads');
    const answer = await explain(decodeURIComponent(namespace), decodeURIComponent(name));
    return answer === undefined ? textResponse(404, `pods "${name}" not found`) : json(answer);
  };
}

function json(body: object): HttpResponse {
  const headers = { 'content-type': 'application/json' };
  return { kind: 'bytes', status: 200, headers, chunks: [Buffer.from(JSON.stringify(body))] };
}
