/**
 * The API server, composed: storage, resources, filters and routes behind one handler. Upstream: the generic API server.
 *
 * `createServerStorage` comes first; authorizers, admission plugins and resource definitions are made of its `objects`,
 * then this. Construction does nothing; `start` reads the store and resolves when the caches are full; `stop` ends watches.
 */
import { stepByStep } from '../base/steps.ts';
import { APIServices } from '../api/gen/resources.ts';
import type { Info } from '../api/gen/version.ts';
import { apiVersionOf } from '../api/resource-info.ts';
import type { ApiHandler } from '../api/transport.ts';
import type { EventLoop } from '../platform/event-loop.ts';
import type { BasePlatform } from '../platform/platform.ts';
import type { Tracer } from '../platform/tracing.ts';
import { createCustomDocuments } from '../api/openapi/custom.ts';
import { AdmissionChain } from './admission/admission-chain.ts';
import type { AdmissionPlugin } from './admission/contract.ts';
import type { PostConversionReview } from './apiextensions/conversion.ts';
import { CustomResources } from './apiextensions/custom-resources.ts';
import { Aggregator, type AggregatorDeps } from './aggregation/aggregator.ts';
import { syncLocalApiServices, type GroupVersion } from './aggregation/local-api-services.ts';
import type { Auditor } from './audit/auditor.ts';
import type { Authenticator } from './authn/contract.ts';
import type { Authorizer } from './authz/contract.ts';
import { COMPACTION_PERIOD_MS, startCompaction } from './compaction.ts';
import { discoveryRoutes } from './discovery/discovery-routes.ts';
import { RunningWatches } from './endpoints/watch.ts';
import { MaxInFlight } from './filters/max-in-flight.ts';
import { flowConfigurationOf } from './flowcontrol/configuration.ts';
import { flowDebugRoutes } from './flowcontrol/debug-routes.ts';
import { FlowController } from './flowcontrol/flow-controller.ts';
import { followFlowObjects } from './flowcontrol/flow-objects.ts';
import type { ResourceKey } from './generic-registry/resource-registry.ts';
import { PastReads } from './generic-registry/past-reads.ts';
import type { RegistryServices } from './generic-registry/services.ts';
import { buildHandlerChain } from './handler-chain.ts';
import { type NonResourceRoute, RouteTable } from './non-resource-routes.ts';
import { historyView } from './history/history-view.ts';
import { type ObjectView, ObjectViews } from './object-views.ts';
import type { ObjectStore } from './registry/object-store.ts';
import { PodRequests } from './tracing/pod-requests.ts';
import type { ResourceDefinition } from './registry/resource-definition.ts';
import { LoopWatchdog } from './loop-watchdog.ts';
import { RefusedRequests } from './refused-requests/refused-requests.ts';
import { refusalsView, refusedRequestRoutes } from './refused-requests/routes.ts';
import { RequestMetrics } from './request-metrics.ts';
import { type HealthCheck, healthRoutes } from './routes/health.ts';
import { openApiRoutes } from './routes/openapi.ts';
import { serverInfoRoutes } from './routes/server-info.ts';
import { isServed, parseRuntimeConfig } from './runtime-config.ts';
import type { ServerStorage } from './server-storage.ts';
import { createStoreProbe, type StoreProbe } from './store-probe.ts';

/** What the server is made of. */
export interface ApiServerDeps {
  readonly storage: ServerStorage;
  readonly platform: BasePlatform;
  readonly definitions: readonly ResourceDefinition[];
  readonly authenticators: readonly Authenticator[];
  readonly authorizers: readonly Authorizer[];
  /** In the order they run. */
  readonly admission: readonly AdmissionPlugin[];
  /** APIs beside the registry's: other servers' by APIService, and computed ones. Absent: there are none. */
  readonly aggregation?: Pick<AggregatorDeps, 'net' | 'identity' | 'builtIns' | 'rejectsRedirects'>;
  /** Further paths: key sets, debugging. */
  readonly routes?: readonly NonResourceRoute[];
  /** Remembers the requests that made and bound pods. Absent when they are not needed. */
  readonly podRequests?: PodRequests;
  /** Makes spans of requests. Absent: none is traced. */
  readonly tracer?: Tracer | undefined;
  /** What can be read about objects beside them. */
  readonly views?: readonly ObjectView[];
  /** The way to conversion webhooks; absent: what they would convert cannot be had. */
  readonly postConversionReview?: PostConversionReview;
  /** Further health checks. */
  readonly healthChecks?: readonly HealthCheck[];
  /** Records requests. It is its owner's to stop. */
  readonly auditor?: Auditor;
  /** Watched, where it can stand still. */
  readonly eventLoop?: EventLoop;
}

/** How it behaves. */
export interface ApiServerConfig {
  readonly version: Info;
  /** `host:port` clients reach the server at. */
  readonly serverAddress: string;
  /** As `--runtime-config`. */
  readonly runtimeConfig?: string;
  /** 0: no limit. Default 400. */
  readonly maxRequestsInFlight?: number;
  /** 0: no limit. Default 200. */
  readonly maxMutatingRequestsInFlight?: number;
  /** True: requests of the network share the sum of both limits by flow schemas and priority levels. Default false. */
  readonly priorityAndFairness?: boolean;
  /** Default five minutes; 0: never. */
  readonly compactionPeriodMs?: number;
  /** How long a request may take. Default a minute. */
  readonly requestTimeoutMs?: number;
  /** How long a watch lasts that does not say, at least. Default half an hour. */
  readonly minRequestTimeoutMs?: number;
}

export interface ApiServer {
  /** Serves requests of the network (through `createHttpHandler`) and of the process. */
  readonly handler: ApiHandler;
  readonly objects: ObjectStore;
  /** Reads the store and starts watching it. Resolves when requests can be served; rejects when the store cannot be read. */
  start(signal: AbortSignal): Promise<void>;
  /** Ends watches and timers. The store is its owner's to close. */
  stop(): Promise<void>;
  /** Whether requests can be served. */
  ready(): boolean;
  /** Short requests that are served at this moment. */
  busy(): number;
  /** Verbs and paths of the requests that wait for something, the oldest first, a hundred at most. */
  underWay(): readonly string[];
  /** Watches that run at this moment. */
  watches(): number;
  /** For a quiet time: gives back what caches hold to be quick. */
  releaseMemory(): void;
  /** Adds or replaces resources at run time; those of one prefix together. Resolves when they are served. */
  addDefinitions(definitions: readonly ResourceDefinition[]): Promise<void>;
  /** Takes resources off and ends their watches; their objects stay in the store. */
  removeDefinitions(keys: readonly ResourceKey[]): void;
}

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
  readonly #serves: (definition: ResourceDefinition) => boolean;
  readonly #watchdog: LoopWatchdog | undefined;
  readonly #stops: (() => void)[] = [];
  readonly #probe: StoreProbe;
  readonly #fairness: FlowController | undefined;
  readonly #inFlightNow: MaxInFlight;
  readonly #refused: RefusedRequests;
  #started = false;

  constructor(deps: ApiServerDeps, config: ApiServerConfig) {
    const { storage, platform, definitions } = deps;
    this.#deps = deps;
    this.#config = config;
    this.objects = storage.objects;
    this.#probe = createStoreProbe({ store: storage.store, clock: platform.clock });
    this.#watches = new RunningWatches(platform, config.minRequestTimeoutMs);
    const runtime = parseRuntimeConfig(config.runtimeConfig ?? '', definitions);
    this.#serves = (definition) => isServed(runtime, definition);
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
      history: storage.history,
      admission,
      authorizers: deps.authorizers,
      clock,
      random: random.fork('apiserver'),
      log,
    };
    storage.registry.add(definitions, this.#services, this.#serves);
    this.#custom = this.#createCustomResources();
    if (deps.aggregation !== undefined)
      this.#aggregator = new Aggregator({ platform, objects: this.objects, ...deps.aggregation });
    const inFlight = this.#inFlight();
    this.#inFlightNow = inFlight;
    this.#fairness = this.#createFairness(inFlight);
    const metrics = new RequestMetrics(inFlight, storage.registry);
    this.handler = buildHandlerChain({
      clock,
      log,
      registry: storage.registry,
      routes: this.#routes(metrics),
      views: this.#views(),
      refused: this.#refused,
      aggregated: (scope) => this.#aggregator?.serve(scope),
      authenticators: deps.authenticators,
      authorizers: deps.authorizers,
      admission,
      podRequests: deps.podRequests ?? new PodRequests(clock),
      tracer: deps.tracer,
      watches: this.#watches,
      crypto: platform.crypto,
      inFlight,
      fairness: this.#fairness,
      metrics,
      requestTimeoutMs: this.#config.requestTimeoutMs ?? 60_000,
      auditor: deps.auditor,
      watchdog: this.#watchdog,
    });
  }

  #views(): ObjectViews {
    const { views = [], storage } = this.#deps;
    const kept = storage.history === undefined ? [] : [historyView];
    return new ObjectViews([...views, refusalsView(this.#refused), ...kept]);
  }

  /** With priority and fairness it only counts. */
  #inFlight(): MaxInFlight {
    const { priorityAndFairness, maxRequestsInFlight = 400, maxMutatingRequestsInFlight = 200 } = this.#config;
    if (priorityAndFairness === true) return new MaxInFlight({ readOnly: Infinity, mutating: Infinity });
    return new MaxInFlight({
      readOnly: maxRequestsInFlight || Infinity,
      mutating: maxMutatingRequestsInFlight || Infinity,
    });
  }

  #createFairness(inFlight: MaxInFlight): FlowController | undefined {
    const { priorityAndFairness, maxRequestsInFlight = 400, maxMutatingRequestsInFlight = 200 } = this.#config;
    if (priorityAndFairness !== true) return undefined;
    const { registry } = this.#deps.storage;
    return new FlowController(
      {
        clock: this.#services.clock,
        inFlight,
        countObjects: ({ info }) => registry.find(info.apiGroup, info.apiVersion, info.resource)?.cache.size,
      },
      maxRequestsInFlight + maxMutatingRequestsInFlight,
      flowConfigurationOf([], []),
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
      serve: (definitions, replaces) => {
        // What is built in stays, whatever a definition in its group calls itself. Upstream's handlers come first too.
        const own = definitions.filter(
          ({ info }) => registry.known(info)?.definition.schema !== undefined || registry.known(info) === undefined,
        );
        return this.#add(own, replaces);
      },
      withdraw: (keys, prefix) => {
        this.removeDefinitions(keys);
        hub.drop(prefix);
      },
    });
  }

  #routes(metrics: RequestMetrics): RouteTable {
    const { storage, platform } = this.#deps;
    const { version, serverAddress } = this.#config;
    const { registry } = storage;
    const documents = createCustomDocuments(version.gitVersion);
    const routes = new RouteTable();
    const groupVersionPaths = (): string[] =>
      [...registry.served].flatMap(({ info }) =>
        info.group === '' ? [`/api/${info.version}`] : ['/apis/', `/apis/${info.group}`, `/apis/${apiVersionOf(info)}`],
      );
    routes.add([
      ...discoveryRoutes({
        registry,
        foreign: this.#aggregator,
        crypto: platform.crypto,
        serverAddress,
      }),
      ...openApiRoutes({
        registry,
        gitVersion: version.gitVersion,
        clock: platform.clock,
        custom: () => documents(this.#custom.apis),
        foreign: this.#aggregator,
      }),
      ...healthRoutes(() => this.#healthChecks()),
      ...serverInfoRoutes({
        version,
        metrics: platform.metrics,
        clock: platform.clock,
        ownMetrics: async () =>
          (await stepByStep(metrics.expose(this.#watches.size), () => platform.clock.yield())) +
          (this.#fairness?.expose() ?? '') +
          (await storage.metrics.expose(storage.store, registry)),
        routes,
        groupVersionPaths,
      }),
      ...(this.#fairness === undefined ? [] : flowDebugRoutes(this.#fairness, platform.clock)),
      ...refusedRequestRoutes(this.#refused),
      ...(this.#deps.routes ?? []),
    ]);
    return routes;
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
    if (periodMs > 0) {
      const { store, clock, log } = this.#services;
      this.#stops.push(startCompaction({ store, clock, log, caches: storage.hub }, periodMs));
    }
    if (this.#watchdog !== undefined) this.#stops.push(this.#watchdog.start());
    if (this.#fairness !== undefined) this.#stops.push(this.#followFlowObjects(this.#fairness));
    await this.#custom.start();
    if (this.#aggregator !== undefined) {
      this.#aggregator.start();
      this.#stops.push(() => this.#aggregator?.stop(), this.#followServed());
    }
    this.#started = true;
  }

  #followFlowObjects(controller: FlowController): () => void {
    const { clock, log } = this.#services;
    const unfollow = followFlowObjects({ objects: this.objects, controller, clock, log });
    return () => {
      unfollow();
      controller.stop();
    };
  }

  /** Keeps the APIServices of what is served here, behind the start and behind changes. */
  #followServed(): () => void {
    const { registry } = this.#deps.storage;
    const { clock, log } = this.#services;
    const served = (): GroupVersion[] => {
      const computed = this.#deps.aggregation?.builtIns ?? [];
      const all = [...[...registry.served].map(({ info }) => info), ...computed].map(({ group, version }) => ({
        group,
        version,
      }));
      return [...new Map(all.map((one) => [`${one.group}/${one.version}`, one])).values()];
    };
    let running: Promise<void> = Promise.resolve();
    let stopped = false;
    const sync = (): void => {
      running = running
        .then(() => (stopped ? undefined : syncLocalApiServices(this.objects, served(), clock.nowMs())))
        .catch((error: unknown) => {
          if (!stopped) log.error('cannot keep APIServices', { err: error });
        });
    };
    registry.onChange(sync);
    const unfollow = this.objects.onChange(APIServices, (service) => {
      if (service === undefined) sync();
    });
    sync();
    return () => {
      stopped = true;
      unfollow();
    };
  }

  async stop(): Promise<void> {
    this.#started = false;
    this.#custom.stop();
    for (const stop of this.#stops.splice(0)) stop();
    this.#watches.endAll();
    this.#deps.storage.hub.stop();
    await this.#deps.storage.history?.stop();
  }

  busy(): number {
    return this.#inFlightNow.readOnly + this.#inFlightNow.mutating;
  }

  underWay(): readonly string[] {
    const oldest = this.#inFlightNow.waiting.inOrder().slice(0, 100);
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
    if (!this.#started) this.#deps.storage.registry.add(definitions, this.#services, this.#serves);
    else
      await this.#add(
        definitions,
        definitions.map(({ info }) => info),
      );
  }

  /** Adds definitions while the hub runs. Watches of what they replace end: their clients go on with the new ones. */
  async #add(definitions: readonly ResourceDefinition[], replaces: readonly ResourceKey[]): Promise<void> {
    const { hub, registry } = this.#deps.storage;
    const prefixes = new Set(definitions.map(({ storagePrefix }) => storagePrefix).filter((prefix) => prefix !== ''));
    for (const prefix of prefixes) await hub.load(prefix);
    const replaced = replaces.map((key) => registry.known(key)).filter((store) => store !== undefined);
    registry.add(definitions, this.#services, this.#serves);
    const kept = new Set(definitions.map(({ info }) => `${info.group}/${info.version}/${info.resource}`));
    registry.remove(replaces.filter(({ group, version, resource }) => !kept.has(`${group}/${version}/${resource}`)));
    for (const store of replaced) this.#watches.endAll(store);
  }

  removeDefinitions(keys: readonly ResourceKey[]): void {
    const { registry } = this.#deps.storage;
    const gone = keys.map((key) => registry.known(key)).filter((store) => store !== undefined);
    registry.remove(keys);
    for (const store of gone) this.#watches.endAll(store);
  }
}
