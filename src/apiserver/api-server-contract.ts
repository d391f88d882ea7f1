/** What an API server is made of, how it behaves, and what it offers to its owner. */
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
  /** In the order they run. */
  readonly admission: readonly AdmissionPlugin[];
  /** APIs beside the registry's: other servers' by APIService, and computed ones. Absent: there are none. */
  readonly aggregation?: Pick<AggregatorDeps, 'net' | 'identity' | 'builtIns' | 'rejectsRedirects' | 'isolatesPages'>;
  /** Further paths: key sets, debugging. */
  readonly routes?: readonly NonResourceRoute[];
  /** Remembers the requests that made and bound pods. Absent when they are not needed. */
  readonly podRequests?: PodRequests;
  /** Makes spans of requests. Absent: none is traced. */
  readonly tracer?: Tracer | undefined;
  /** What can be read about objects beside them. */
  readonly views?: readonly ObjectView[];
  /** How kubelets are asked for the charts of the last hour. Absent: there are no charts. */
  readonly charts?: SummaryDeps | undefined;
  /** The way to conversion webhooks; absent: what they would convert cannot be had. */
  readonly postConversionReview?: PostConversionReview;
  /** Further health checks. */
  readonly healthChecks?: readonly HealthCheck[];
  /** Records requests. It is its owner's to stop. */
  readonly auditor?: Auditor;
  /** Watched, where it can stand still. */
  readonly eventLoop?: EventLoop;
}

export interface ApiServerConfig extends RequestLimitsConfig {
  readonly version: Info;
  /** `host:port` clients reach the server at. */
  readonly serverAddress: string;
  /** As `--runtime-config`. */
  readonly runtimeConfig?: string;
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
