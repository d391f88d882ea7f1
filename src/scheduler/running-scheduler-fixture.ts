/** The scheduler against the small fake API, on virtual time. */
import type { TestContext } from 'node:test';
import { EventsV1, Pods } from '../api/gen/resources.ts';
import type { Pod } from '../api/gen/core-v1.ts';
import { formatTime } from '../api/time.ts';
import { EventSeriesBroadcaster } from '../client/event-series-broadcaster.ts';
import { createInProcessClient } from '../client/in-process-transport.ts';
import { createInformerFactory } from '../client/informer-factory.ts';
import { createFakeApi, type FakeApi } from '../client/fake-api-fixture.ts';
import { createMemoryLog } from '../platform/sim/log.ts';
import { createMemoryMetrics, type MemoryMetrics } from '../platform/sim/metrics.ts';
import { createSeededRandom } from '../platform/sim/random.ts';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import { defaultSchedulerConfig, type SchedulerConfig } from './config/scheduler-config.ts';
import type { Extender } from './extenders/extender.ts';
import { knownPlugins, type PluginEntry } from './plugins/list.ts';
import { createScheduler } from './scheduler.ts';

/** A running scheduler and its decisions. */
export interface Running {
  readonly api: FakeApi;
  readonly clock: VirtualClock;
  readonly metrics: MemoryMetrics;
  /** Method and path of bindings. */
  bindings(): string[];
  events(): string[];
  pod(name: string): Pod | undefined;
  counts(): { active: number; backoff: number; unschedulable: number; gated: number };
}

/** The scheduler with the small fake API. Binding sets the node, unless `onBind` returns otherwise. */
export async function startScheduler(
  t: TestContext,
  before: (api: FakeApi) => void,
  more: {
    onBind?: (name: string, attempt: number) => boolean | void;
    extenders?: readonly Extender[];
    /** Beside those of the list. */
    plugins?: readonly PluginEntry[];
    config?: SchedulerConfig;
    life?: AbortController;
  } = {},
): Promise<Running> {
  const { onBind = () => true, extenders = [], plugins = [], life: stop = new AbortController() } = more;
  const clock = new VirtualClock();
  const api = createFakeApi(() => formatTime(clock.nowMs()));
  before(api);
  const attempts = new Map<string, number>();
  api.intercept = ({ path, body }) => {
    const name = /\/pods\/([^/]+)\/binding$/.exec(path)?.[1];
    if (name === undefined) return;
    attempts.set(name, (attempts.get(name) ?? 0) + 1);
    if (onBind(name, attempts.get(name) ?? 1) === false) return;
    const nodeName = (body as { target: { name: string } }).target.name;
    api.modify<Pod>(Pods, `default/${name}`, (old) => ({
      ...old,
      spec: { ...old.spec, nodeName } as Pod['spec'] & object,
    }));
  };
  const [random, log] = [createSeededRandom(1), createMemoryLog()];
  const client = createInProcessClient({
    handler: api.handler,
    clock,
    principal: { name: 'system:kube-scheduler', groups: [] },
    userAgent: 'scheduler',
  });
  const broadcaster = new EventSeriesBroadcaster({ client, clock, random, log, hostName: 'host' });
  const informers = createInformerFactory({ client, clock, random, log });
  const metrics = createMemoryMetrics();
  const platform = { clock, random, log, metrics, crypto: undefined as never };
  t.after(() => stop.abort(new Error('test over')));
  broadcaster.start(stop.signal);
  const scheduler = createScheduler(
    {
      client,
      informers,
      recorderFor: (component) => broadcaster.recorderFor(component),
      platform,
      extenders,
      plugins: [...knownPlugins, ...plugins],
    },
    more.config ?? defaultSchedulerConfig(),
  );
  const started = scheduler.start(stop.signal);
  await clock.advance(100);
  await started;
  await clock.advance(100);
  return {
    api,
    clock,
    metrics,
    counts: () => scheduler.counts(),
    bindings: () => api.requests.filter((r) => r.path.endsWith('/binding')).map((r) => r.path.split('/').at(-2) ?? ''),
    events: () => api.objects(EventsV1).map((event) => `${event.type} ${event.reason} ${event.note}`),
    pod: (name) => api.objects(Pods).find((pod) => pod.metadata.name === name),
  };
}
