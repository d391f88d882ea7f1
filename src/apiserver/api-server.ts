/**
 * Composes the API server: storage, resources, filters and routes behind one handler. Upstream: the generic API
 * server.
 *
 * `createServerStorage` comes first; authorizers, admission plugins and resource definitions are created from its
 * `objects`, then the server. Construction has no effects; `start` reads the store and resolves when the caches are
 * filled; `stop` ends watches.
 */
import type { ApiHandler } from '../api/transport.ts';
import { AdmissionChain } from './admission/admission-chain.ts';
import { Aggregator } from './aggregation/aggregator.ts';
import { startAutoRegistration } from './aggregation/auto-registration.ts';
import type { ApiServer, ApiServerConfig, ApiServerDeps } from './api-server-contract.ts';
import type { PostConversionReview } from './apiextensions/conversion.ts';
import { CustomResources } from './apiextensions/custom-resources.ts';
import { type Charts, createCharts } from './charts/charts.ts';
import { COMPACTION_PERIOD_MS, startCompaction } from './compaction.ts';
import { RunningWatches } from './endpoints/running-watches.ts';
import type { MaxInFlight } from './filters/max-in-flight.ts';
import { BODY_LIMITS, ByteBudget, LIST_LIMITS } from './flowcontrol/byte-budget.ts';
import type { FlowController } from './flowcontrol/flow-controller.ts';
import { createRequestLimits, startFairness } from './flowcontrol/request-limits.ts';
import { PastReads } from './generic-registry/past-reads.ts';
import type { ResourceKey } from './generic-registry/resource-registry.ts';
import type { RegistryServices } from './generic-registry/services.ts';
import { buildHandlerChain } from './handler-chain.ts';
import { historyView } from './history/history-view.ts';
import { InstalledDefinitions } from './installed-definitions.ts';
import { LoopWatchdog } from './loop-watchdog.ts';
import type { RouteTable } from './non-resource-routes.ts';
import { ObjectViews } from './object-views.ts';
import { RefusedRequests } from './refused-requests/refused-requests.ts';
import { refusalsView } from './refused-requests/routes.ts';
import type { ObjectStore } from './registry/object-store.ts';
import type { ResourceDefinition } from './registry/resource-definition.ts';
import { RequestMetrics } from './request-metrics.ts';
import type { HealthCheck } from './routes/health.ts';
import { standardRoutes } from './routes/standard-routes.ts';
import { isServed, parseRuntimeConfig } from './runtime-config.ts';
import { createStoreProbe, type StoreProbe } from './store-probe.ts';
import { PodRequests } from './tracing/pod-requests.ts';

const noWebhooks: PostConversionReview = () => Promise.reject(new Error('this server calls no webhooks'));

/** Constructs the server. Throws for a malformed runtime config. */
export function createApiServer(deps: ApiServerDeps, config: ApiServerConfig): ApiServer {
  return new GenericApiServer(deps, config);
}

class GenericApiServer implements ApiServer {
  readonly handler: ApiHandler;
  readonly objects: ObjectStore;
  readonly #deps: ApiServerDeps;
  readonly #config: ApiServerConfig;
  readonly #services: RegistryServices;
  readonly #watches: RunningWatches;
  readonly #custom: CustomResources;
  readonly #aggregator: Aggregator | undefined;
  readonly #installed: InstalledDefinitions;
  readonly #watchdog: LoopWatchdog | undefined;
  readonly #stops: (() => void)[] = [];
  readonly #probe: StoreProbe;
  readonly #fairness: FlowController | undefined;
  readonly #inFlight: MaxInFlight;
  readonly #refused: RefusedRequests;
  readonly #charts: Charts | undefined;
  #started = false;

  constructor(deps: ApiServerDeps, config: ApiServerConfig) {
    const { storage, platform, definitions } = deps;
    this.#deps = deps;
    this.#config = config;
    this.objects = storage.objects;
    this.#probe = createStoreProbe({ store: storage.store, clock: platform.clock });
    this.#watches = new RunningWatches(platform, config.minRequestTimeoutMs);
    const runtime = parseRuntimeConfig(config.runtimeConfig ?? '', definitions);
    const { clock, random } = platform;
    const log = platform.log.child('apiserver');
    if (deps.eventLoop !== undefined)
      this.#watchdog = new LoopWatchdog({ loop: deps.eventLoop, clock, log, metrics: platform.metrics });
    this.#refused = new RefusedRequests(clock, random.fork('refused-requests'));
    const admission = new AdmissionChain(deps.admission, clock);
    this.#services = {
      store: storage.store,
      hub: storage.hub,
      pastReads: new PastReads(storage.store),
      lists: new ByteBudget(clock, LIST_LIMITS),
      history: storage.history,
      admission,
      authorizers: deps.authorizers,
      clock,
      random: random.fork('apiserver'),
      log,
    };
    this.#installed = new InstalledDefinitions(storage, this.#services, this.#watches, (definition) =>
      isServed(runtime, definition),
    );
    this.#installed.addAtStart(definitions);
    this.#custom = this.#createCustomResources();
    if (deps.aggregation !== undefined)
      this.#aggregator = new Aggregator({ platform, objects: this.objects, ...deps.aggregation });
    const limits = createRequestLimits({ clock, registry: storage.registry }, config);
    [this.#inFlight, this.#fairness] = [limits.inFlight, limits.fairness];
    const metrics = new RequestMetrics(this.#inFlight, storage.registry);
    this.#charts = this.#createCharts(metrics);
    this.handler = buildHandlerChain({
      clock,
      log,
      registry: storage.registry,
      routes: this.#routes(metrics),
      views: this.#views(),
      refused: this.#refused,
      aggregated: (scope) => this.#aggregator?.serve(scope),
      authenticators: deps.authenticators,
      authorizers: this.#charts === undefined ? deps.authorizers : [this.#charts.authorizer, ...deps.authorizers],
      admission,
      podRequests: deps.podRequests ?? new PodRequests(clock),
      tracer: deps.tracer,
      watches: this.#watches,
      crypto: platform.crypto,
      inFlight: this.#inFlight,
      bodies: new ByteBudget(clock, BODY_LIMITS),
      fairness: this.#fairness,
      metrics,
      requestTimeoutMs: this.#config.requestTimeoutMs ?? 60_000,
      auditor: deps.auditor,
      watchdog: this.#watchdog,
    });
  }

  #routes(metrics: RequestMetrics): RouteTable {
    const { storage, platform, routes = [] } = this.#deps;
    const { version, serverAddress } = this.#config;
    return standardRoutes({
      storage,
      platform,
      metrics,
      watches: this.#watches,
      custom: this.#custom,
      aggregator: this.#aggregator,
      fairness: this.#fairness,
      refused: this.#refused,
      healthChecks: () => this.#healthChecks(),
      further: this.#charts === undefined ? routes : [...routes, this.#charts.route],
      version,
      serverAddress,
    });
  }

  #views(): ObjectViews {
    const { views = [], storage } = this.#deps;
    const historyViews = storage.history === undefined ? [] : [historyView];
    const charts = this.#charts === undefined ? [] : [this.#charts.view];
    return new ObjectViews([...views, refusalsView(this.#refused), ...historyViews, ...charts]);
  }

  #createCharts(metrics: RequestMetrics): Charts | undefined {
    const { charts, authorizers } = this.#deps;
    return (
      charts &&
      createCharts({
        ...charts,
        authorizers,
        requestState: () => ({ ...metrics.totals(), openWatches: this.#watches.size }),
      })
    );
  }

  #createCustomResources(): CustomResources {
    const { clock, log, random } = this.#services;
    const { registry, hub, objects } = this.#deps.storage;
    return new CustomResources({
      objects,
      clock,
      log: log.child('apiextensions'),
      parts: {
        conversion: { post: this.#deps.postConversionReview ?? noWebhooks, random: random.fork('conversion') },
      },
      storeOf: (key) => registry.known(key),
      serve: (definitions, replaces) => this.#installed.addCustom(definitions, replaces),
      withdraw: (keys, prefix) => {
        this.#installed.remove(keys);
        hub.drop(prefix);
      },
    });
  }

  #healthChecks(): HealthCheck[] {
    const store = (): string | undefined =>
      this.#deps.storage.hub.healthy ? this.#probe.problem() : 'the watch on the store is down';
    return [
      { name: 'ping', check: () => undefined },
      { name: 'log', check: () => undefined },
      { name: 'etcd', check: store },
      {
        name: 'informer-sync',
        check: () => (this.#started ? undefined : 'caches are not filled'),
        endpoints: ['readyz'],
      },
      ...(this.#deps.healthChecks ?? []),
    ];
  }

  async start(signal: AbortSignal): Promise<void> {
    const { storage } = this.#deps;
    signal.throwIfAborted();
    await storage.hub.start();
    storage.history?.start(storage.hub.revision);
    this.#stops.push(
      storage.hub.onReset(() => this.#watches.endAll()),
      this.#probe.start(),
    );
    const periodMs = this.#config.compactionPeriodMs ?? COMPACTION_PERIOD_MS;
    const { store, clock, log } = this.#services;
    if (periodMs > 0) this.#stops.push(startCompaction({ store, clock, log, caches: storage.hub }, periodMs));
    if (this.#watchdog !== undefined) this.#stops.push(this.#watchdog.start());
    if (this.#fairness !== undefined)
      this.#stops.push(startFairness(this.#fairness, { objects: this.objects, clock, log }));
    await this.#custom.start();
    if (this.#aggregator !== undefined) {
      this.#aggregator.start();
      const computed = this.#deps.aggregation?.builtIns ?? [];
      const { registry } = storage;
      this.#stops.push(
        () => this.#aggregator?.stop(),
        startAutoRegistration({ objects: this.objects, registry, computed, clock, log }),
      );
    }
    this.#started = true;
  }

  async stop(): Promise<void> {
    this.#started = false;
    this.#charts?.stop();
    this.#custom.stop();
    for (const stop of this.#stops.splice(0)) stop();
    this.#watches.endAll();
    this.#deps.storage.hub.stop();
    await this.#deps.storage.history?.stop();
  }

  busy(): number {
    return this.#inFlight.readOnly + this.#inFlight.mutating;
  }

  underWay(): readonly string[] {
    const oldest = this.#inFlight.waiting.inOrder().slice(0, 100);
    return oldest.map(({ info, request }) => `${info.verb} ${request.path}`);
  }

  watches(): number {
    return this.#watches.size;
  }

  releaseMemory(): void {
    this.#deps.storage.hub.releaseMemory();
  }

  ready(): boolean {
    return this.#started && this.#deps.storage.hub.healthy;
  }

  async addDefinitions(definitions: readonly ResourceDefinition[]): Promise<void> {
    const keys = definitions.map(({ info }) => info);
    if (this.#started) await this.#installed.add(definitions, keys);
    else this.#installed.addAtStart(definitions);
  }

  removeDefinitions(keys: readonly ResourceKey[]): void {
    this.#installed.remove(keys);
  }
}
