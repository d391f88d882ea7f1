/** The parts of an API server, its settings, and the interface for its owner. */
import type { Info } from '../api/gen/version.ts';
import type { ApiHandler } from '../api/transport.ts';
import type { EventLoop } from '../platform/event-loop.ts';
import type { BasePlatform } from '../platform/platform.ts';
import type { Tracer } from '../platform/tracing.ts';
import type { AdmissionPlugin } from './admission/contract.ts';
import type { PostConversionReview } from './apiextensions/conversion.ts';
import { type AggregatorDeps } from './aggregation/aggregator.ts';
import type { Auditor } from './audit/auditor.ts';
import type { Authenticator } from './authn/contract.ts';
import type { Authorizer } from './authz/contract.ts';
import { type RequestLimitsConfig } from './flowcontrol/request-limits.ts';
import type { ResourceKey } from './generic-registry/resource-registry.ts';
import type { SummaryDeps } from './metrics-api/node-summaries.ts';
import type { NonResourceRoute } from './non-resource-routes.ts';
import { type ObjectView } from './object-views.ts';
import type { ObjectStore } from './registry/object-store.ts';
import type { PodRequests } from './tracing/pod-requests.ts';
import type { ResourceDefinition } from './registry/resource-definition.ts';
import type { HealthCheck } from './routes/health.ts';
import type { ServerStorage } from './server-storage.ts';

export interface ApiServerDeps {
  readonly storage: ServerStorage;
  readonly platform: BasePlatform;
  readonly definitions: readonly ResourceDefinition[];
  readonly authenticators: readonly Authenticator[];
  readonly authorizers: readonly Authorizer[];
  /** The plugins in the order they run. */
  readonly admission: readonly AdmissionPlugin[];
  /** APIs outside the registry: of other servers, by APIService, and computed ones. Absent: none. */
  readonly aggregation?: Pick<AggregatorDeps, 'net' | 'identity' | 'builtIns' | 'rejectsRedirects' | 'isolatesPages'>;
  /** Further routes: key sets, debugging. */
  readonly routes?: readonly NonResourceRoute[];
  /** Records the requests that created and bound pods. Absent: not recorded. */
  readonly podRequests?: PodRequests;
  /** Creates spans of requests. Absent: no tracing. */
  readonly tracer?: Tracer | undefined;
  /** Views of objects, served besides the objects. */
  readonly views?: readonly ObjectView[];
  /** Reads the kubelets' summaries for the charts of the last hour. Absent: no charts. */
  readonly charts?: SummaryDeps | undefined;
  /** Calls conversion webhooks; absent: objects that need conversion cannot be read. */
  readonly postConversionReview?: PostConversionReview;
  /** Further health checks. */
  readonly healthChecks?: readonly HealthCheck[];
  /** Records requests. The owner stops it. */
  readonly auditor?: Auditor;
  /** The event loop to watch for stalls. */
  readonly eventLoop?: EventLoop;
}

export interface ApiServerConfig extends RequestLimitsConfig {
  readonly version: Info;
  /** The `host:port` at which clients reach the server. */
  readonly serverAddress: string;
  /** The `--runtime-config` flag. */
  readonly runtimeConfig?: string;
  /** Default five minutes; 0: never. */
  readonly compactionPeriodMs?: number;
  /** The time limit of a request. Default a minute. */
  readonly requestTimeoutMs?: number;
  /** The minimum duration of watches without a timeout. Default half an hour. */
  readonly minRequestTimeoutMs?: number;
}

export interface ApiServer {
  /** Serves requests of the network (through `createHttpHandler`) and of the process. */
  readonly handler: ApiHandler;
  readonly objects: ObjectStore;
  /**
   * Reads the store and follows its changes. Resolves when requests can be served; rejects when the store cannot be
   * read.
   */
  start(signal: AbortSignal): Promise<void>;
  /** Ends watches and timers. The owner closes the store. */
  stop(): Promise<void>;
  /** Whether requests can be served. */
  ready(): boolean;
  /** The number of short requests being served. */
  busy(): number;
  /** Verbs and paths of waiting requests, the oldest first, a hundred at most. */
  underWay(): readonly string[];
  /** The number of open watches. */
  watches(): number;
  /** Releases memory that caches hold for speed; call it when the server is idle. */
  releaseMemory(): void;
  /** Adds or replaces resources at run time, those of one prefix together. Resolves when they are served. */
  addDefinitions(definitions: readonly ResourceDefinition[]): Promise<void>;
  /** Removes resources and ends their watches; their objects stay in the store. */
  removeDefinitions(keys: readonly ResourceKey[]): void;
}
