/**
 * What the generic handlers need to know of one resource. Built-in resources and CustomResourceDefinitions produce the
 * same. Upstream: genericregistry.Store with its strategies, plus rest.Storage for sub-resources.
 */
import { type Int64 } from '../../api/int64.ts';
import type { Steps } from '../../base/steps.ts';
import type { FinalizerNames } from '../../api/meta-validation.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import type { StructSchema } from '../../api/schema/type-schema.ts';
import type { FieldCause } from '../../api/status-error.ts';
import type { TableColumnDefinition } from '../../api/gen/meta-v1.ts';
import type { ApiRequest, ApiResponse } from '../../api/transport.ts';
import type { RequestContext } from '../request-context.ts';

/** How objects of a resource come into being and change. `draft`s are private and changed in place. */
export interface Strategy<T extends KubernetesObject> {
  /** Fills defaults, as upstream's conversion defaults do. Runs on every decoded body and on what the store holds. */
  applyDefaults?(draft: T): void;
  /** Clears what a creator may not set (status …), sets generation 1. */
  prepareForCreate?(draft: T, context: RequestContext): void;
  /** Field errors with upstream's paths and texts; metadata is checked by the generic handler. */
  validate(object: T, context: RequestContext): FieldCause[];
  /** Carries over what an updater may not change; raises generation when the spec changed. */
  prepareForUpdate?(draft: T, old: T, context: RequestContext): void;
  validateUpdate(object: T, old: T, context: RequestContext): FieldCause[];
  /** What both do, where it may take long: `old` is undefined for creates. */
  validationSteps?(object: T, old: T | undefined, context: RequestContext): Steps<FieldCause[]>;
  /** Texts for Warning headers. */
  warnings?(object: T, old: T | undefined): string[];
  /** What finalizers may be called; default: as the resource's group has it. */
  readonly finalizerNames?: FinalizerNames;
  readonly allowCreateOnUpdate?: boolean;
  /** PUT without resourceVersion overwrites. */
  readonly allowUnconditionalUpdate?: boolean;
  /** Names of this resource: dns subdomain unless given. Returns the complaint's text. */
  validateName?(name: string, prefix: boolean): string[];
  /** Graceful deletion: seconds to grant (0: delete now), may replace fields of the draft and of its metadata (deletionTimestamp is set by the caller). Absent: immediate. */
  gracefulDeletionSeconds?(object: T, requestedSeconds: Int64 | undefined): Int64;
  /**
   * Takes outside resources (cluster IPs, node ports) before a create or update is stored. Called after validation and
   * admission, may change the draft; `commit` after the write, `rollback` when it failed or is a dry run.
   */
  allocate?(draft: T, old: T | undefined, dryRun: boolean): Promise<{ commit(): void; rollback(): void } | undefined>;
  /**
   * True while something beside metadata.finalizers keeps a deleted object in the store (namespaces: spec.finalizers). A
   * DELETE then only marks it, and it goes with the first update, of any sub-resource, that leaves no finalizer of either
   * kind on a marked object.
   */
  blocksDeletion?(object: T): boolean;
}

/** Fields of an object a field selector may name beside metadata.name and metadata.namespace. */
export type SelectableFields<T> = (object: T) => Readonly<Record<string, string>>;

/** Printer columns and cells, as `kubectl get` shows them. */
export interface Printer<T> {
  readonly columns: readonly TableColumnDefinition[];
  /** One cell per column. `nowMs`: for ages. */
  cells(object: T, nowMs: number): readonly unknown[];
}

/** A sub-resource served by code of its own (log, exec, binding, eviction, scale, token, proxy …). */
export interface ConnectSubresource {
  /** HTTP methods it takes. */
  readonly methods: readonly string[];
  /** Serves the request after authorization; admission CONNECT (or CREATE for POSTs with a body) is its own matter through `SubresourceServices`. */
  serve(request: ApiRequest, context: RequestContext): Promise<ApiResponse>;
}

/** A sub-resource that reads and writes the same stored object through a strategy of its own (status, ephemeralcontainers, resize, finalize, approval). */
export interface ObjectSubresource<T extends KubernetesObject> {
  readonly strategy: Strategy<T>;
}

/** A POST to a sub-resource with a body of a kind of its own. */
export interface NamedCreateRequest {
  readonly namespace: string;
  /** Name of the object the sub-resource belongs to. */
  readonly name: string;
  /** Decoded, defaulted and admitted; its kind is the sub-resource's in `info.subresources`. A private draft. */
  readonly body: KubernetesObject;
  readonly dryRun: boolean;
  readonly context: RequestContext;
}

/**
 * A sub-resource one POSTs a body to (binding, eviction, token): the generic handler decodes, admits (CREATE) and encodes
 * with status 201. Upstream: rest.NamedCreater.
 */
export interface CreateSubresource {
  /** An API version of old clients whose bodies have the same shape. */
  readonly alike?: string;
  create(request: NamedCreateRequest): Promise<KubernetesObject>;
}

/** Where the `scale` sub-resource reads and writes. Reads make an autoscaling/v1 Scale with the object's metadata (name, namespace, uid, resourceVersion, creationTimestamp). */
export interface ScaleAccess<T extends KubernetesObject> {
  read(object: T): { readonly specReplicas: number; readonly statusReplicas: number; readonly selector: string };
  write(draft: T, replicas: number): void;
  /** Path of the replicas in managed fields: `['spec', 'replicas']`. */
  readonly replicasPath: readonly string[];
}

/** How stored objects are read; see `ResourceDefinition.reading`. */
export interface Reading {
  readonly key: string;
  read(stored: KubernetesObject): KubernetesObject;
  /** Where versions differ by more than their name: calls that convert. Reject with StatusErrors. */
  readonly convert?: Conversion;
}

/** Conversion of objects that is a call to somebody else. */
export interface Conversion {
  /** Converts stored objects of other versions, keeping their order. */
  fromStored(objects: readonly KubernetesObject[]): Promise<readonly KubernetesObject[]>;
  toStored(object: KubernetesObject): Promise<KubernetesObject>;
}

/** One resource, complete. */
export interface ResourceDefinition<T extends KubernetesObject = KubernetesObject> {
  readonly info: ResourceInfo<T>;
  /** The schema of its objects, where it is not a built-in kind's. */
  readonly schema?: StructSchema;
  /** Among versions that share a prefix: what is stored. Default: the first without `conversion`. */
  readonly storageVersion?: boolean;
  /** What becomes of dependents when a DELETE does not say. Default Background; jobs and replication controllers: Orphan. */
  readonly defaultPropagation?: 'Background' | 'Orphan';
  /** DELETE answers with the object instead of a Status even when it is gone (pods, …). */
  readonly returnsDeleted?: boolean;
  /** Served by default, or only by `--runtime-config`. */
  readonly enabledByDefault: boolean;
  /** Store key prefix with trailing slash, as upstream's etcd layout: `/registry/pods/`, `/registry/minions/`. Resources of equal prefix share storage (versions of one kind). */
  readonly storagePrefix: string;
  readonly strategy: Strategy<T>;
  readonly selectableFields?: SelectableFields<T>;
  readonly printer?: Printer<T>;
  readonly objectSubresources?: Readonly<Record<string, ObjectSubresource<T>>>;
  readonly createSubresources?: Readonly<Record<string, CreateSubresource>>;
  readonly scale?: ScaleAccess<T>;
  /** Made once the server's services exist; see `registry/list.ts`. */
  readonly connectSubresources?: Readonly<Record<string, ConnectSubresource>>;
  /** True for virtual resources (reviews, componentstatuses) that have no storage: `virtual.create` etc. serve them. */
  readonly virtual?: VirtualResource;
  /** Keys expire by themselves (events). */
  readonly ttlSeconds?: number;
  /** The time in the spec (RFC 3339, microseconds) that heartbeats renew. No rule of the strategy may look at it. */
  readonly renewedField?: string;
  /**
   * What readers get of stored objects where these may be of another version or an older schema (custom resources).
   * `key` names this way of reading among all the resource ever had; what reads the same is returned as it is.
   */
  readonly reading?: Reading;
  /** A Warning header for every client that uses this version. */
  readonly deprecationWarning?: string;
  /** Conversion between this version's objects and the stored version's, where they differ. */
  readonly conversion?: { toStored(object: T): KubernetesObject; fromStored(object: KubernetesObject): T };
}

/** A resource without storage: TokenReview, SubjectAccessReview, ComponentStatus … */
export interface VirtualResource {
  create?(draft: KubernetesObject, context: RequestContext, namespace: string): Promise<KubernetesObject>;
  get?(name: string, context: RequestContext): Promise<KubernetesObject>;
  list?(context: RequestContext): Promise<readonly KubernetesObject[]>;
}
