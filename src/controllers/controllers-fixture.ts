/** Controllers against the small fake API on a virtual clock, with a stand-in for the node agents. For tests. */
import { formatTime } from '../api/time.ts';
import { Events, Pods } from '../api/gen/resources.ts';
import type { Pod } from '../api/gen/core-v1.ts';
import { createEventBroadcaster } from '../client/event-broadcaster.ts';
import { createInProcessClient } from '../client/in-process-transport.ts';
import { createInformerFactory } from '../client/informer-factory.ts';
import { createFakeApi, type FakeApi } from '../client/fake-api-fixture.ts';
import { createMemoryLog, type MemoryLog } from '../platform/sim/log.ts';
import { createMemoryMetrics, type MemoryMetrics } from '../platform/sim/metrics.ts';
import { createSeededRandom } from '../platform/sim/random.ts';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import { isPodActive } from '../component-helpers/pods.ts';
import type { Controller, ControllerDeps, ControllersConfig } from './controller.ts';

/** A running set-up. */
export interface Harness {
  readonly api: FakeApi;
  readonly clock: VirtualClock;
  readonly log: MemoryLog;
  readonly metrics: MemoryMetrics;
  /** Makes active pods Running and Ready (those `which` selects), and removes terminating ones; one pass. */
  runPods(which?: (pod: Pod) => boolean): void;
  /** Advances in steps, running pods after each. */
  run(ms: number, options?: { which?: (pod: Pod) => boolean; stepMs?: number }): Promise<void>;
  pods(): Pod[];
  events(): string[];
  stop(): Promise<void>;
}

/** Starts controllers on an empty API. */
export function startHarness(
  factories: readonly ((deps: ControllerDeps) => Controller)[],
  options: { config?: ControllersConfig; before?: (api: FakeApi) => void } = {},
): Harness {
  const clock = new VirtualClock();
  const now = (): string => formatTime(clock.nowMs());
  const api = createFakeApi(now);
  options.before?.(api);
  const random = createSeededRandom(1);
  const log = createMemoryLog();
  const metrics = createMemoryMetrics();
  const clientFor = (name: string) =>
    createInProcessClient({
      handler: api.handler,
      clock,
      principal: { name: `system:serviceaccount:kube-system:${name}`, groups: [] },
      userAgent: name,
    });
  const broadcaster = createEventBroadcaster({ client: clientFor('events'), clock, random, log });
  const informers = createInformerFactory({ client: clientFor('informers'), clock, random, log });
  const deps: ControllerDeps = {
    client: clientFor('manager'),
    clientFor,
    informers,
    platform: { clock, random, log, metrics, crypto: undefined as never },
    recorderFor: (component) => broadcaster.recorderFor(component),
    config: options.config ?? {},
  };
  const stop = new AbortController();
  broadcaster.start(stop.signal);
  const made = factories.map((factory) => factory(deps));
  informers.start(stop.signal);
  const ended = Promise.all(made.map((controller) => controller.start(stop.signal)));

  const harness: Harness = {
    api,
    clock,
    log,
    metrics,
    pods: () => api.objects(Pods).filter(isPodActive),
    events: () => api.objects(Events).map((event) => `${event.type} ${event.reason} ${event.message}`),
    runPods(which = () => true) {
      for (const pod of api.objects(Pods)) {
        const key = `${pod.metadata.namespace}/${pod.metadata.name}`;
        if (pod.metadata.deletionTimestamp !== undefined) api.remove(Pods, key);
        else if (pod.status?.phase !== 'Running' && pod.status?.phase !== 'Failed' && which(pod))
          api.modify<Pod>(Pods, key, (old) => ready(old, now()));
      }
    },
    async run(ms, { which, stepMs = 100 } = {}) {
      for (let passed = 0; passed < ms; passed += stepMs) {
        await clock.advance(stepMs);
        harness.runPods(which);
      }
      await clock.settle();
    },
    async stop() {
      stop.abort(new Error('test over'));
      await ended;
    },
  };
  return harness;
}

function ready(pod: Pod, time: string): Pod {
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: time }];
  return { ...pod, status: { ...pod.status, phase: 'Running', conditions, podIP: '10.42.0.9' } };
}
