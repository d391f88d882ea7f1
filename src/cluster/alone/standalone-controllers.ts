/**
 * Standalone controllers against any API server: leader election by a Lease, controllers only while leading, and a
 * port for health and metrics. Upstream: cmd/kube-controller-manager/app/controllermanager.go.
 */
import { textResponse } from './text-response.ts';
import type { Client } from '../../client/client.ts';
import { createEventBroadcaster } from '../../client/event-broadcaster.ts';
import { createInformerFactory } from '../../client/informer-factory.ts';
import { runLeaderElection, type LeaderElectionConfig } from '../../client/leader-election.ts';
import type { ControllersConfig } from '../../controllers/controller.ts';
import { runControllers } from '../../controllers/list.ts';
import type { HttpHandler } from '../../platform/http.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import { serveStatusz } from './serve-statusz.ts';

export interface StandaloneControllersDeps {
  readonly platform: BasePlatform;
  /** The controller manager's own client. */
  readonly client: Client;
  /** A client for one controller. */
  readonly clientFor: (account: string) => Client;
}

export interface StandaloneControllersConfig {
  readonly names: readonly string[];
  readonly controllers: ControllersConfig;
  /** Leader election; absent: the controllers run at once. */
  readonly leaderElection?: Omit<LeaderElectionConfig, 'lead'>;
}

/** The controllers of one process. */
export interface StandaloneControllers {
  /** Resolves when the signal aborts (to `stopped`), or when leadership is lost: the process must exit then. */
  run(signal: AbortSignal): Promise<'stopped' | 'leadership lost'>;
  /** Whether this instance leads. */
  leads(): boolean;
  /** Serves /healthz, /livez, /readyz, /metrics and /statusz. */
  readonly http: HttpHandler;
}

/** Nothing runs before `run`. */
export function createStandaloneControllers(
  deps: StandaloneControllersDeps,
  config: StandaloneControllersConfig,
): StandaloneControllers {
  const { platform, client } = deps;
  const { clock, random, log } = platform;
  let leading = false;
  const lead = async (signal: AbortSignal): Promise<void> => {
    leading = true;
    try {
      await runAll(deps, config, signal);
    } finally {
      leading = false;
    }
  };
  return {
    leads: () => leading,
    http: createHandler(platform),
    async run(signal) {
      const { leaderElection } = config;
      if (leaderElection === undefined) await lead(signal);
      else {
        const electors = { client, clock, random: random.fork('leader-election'), log, metrics: platform.metrics };
        await runLeaderElection(electors, { ...leaderElection, lead }, signal);
      }
      return signal.aborted ? 'stopped' : 'leadership lost';
    },
  };
}

async function runAll(
  { platform, client, clientFor }: StandaloneControllersDeps,
  { names, controllers }: StandaloneControllersConfig,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random, log } = platform;
  const sources = { client, clock, random, log };
  const events = createEventBroadcaster(sources);
  events.start(signal);
  await runControllers(
    {
      platform,
      client,
      clientFor,
      informers: createInformerFactory(sources),
      recorderFor: (component) => events.recorderFor(component),
      config: controllers,
    },
    signal,
    names,
  );
}

function createHandler({ metrics, clock }: Pick<BasePlatform, 'metrics' | 'clock'>): HttpHandler {
  const statusz = serveStatusz(clock, 'kube-controller-manager', ['/healthz', '/livez', '/metrics', '/readyz']);
  return async ({ method, path, headers }) => {
    if (method !== 'GET' && method !== 'HEAD') return textResponse(405, 'method not allowed');
    if (path === '/statusz') return statusz(headers['accept']);
    if (['/healthz', '/livez', '/readyz'].includes(path)) return textResponse(200, 'ok');
    return path === '/metrics' ? textResponse(200, await metrics.expose()) : textResponse(404, '404 page not found');
  };
}
