/**
 * What the generic handlers need to know about a resource. Built-in resources and CustomResourceDefinitions have the
 * same form. Upstream: genericregistry.Store with its strategies, plus rest.Storage for sub-resources.
 */
import { type Int64 } from '../../api/int64.ts';
import type { Steps } from '../../base/steps.ts';
import type { FinalizerNames } from '../../api/meta-validation.ts';
import type { FieldNode } from '../../api/managed-fields/field-set.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import type { VersionForms } from '../../api/managed-fields/other-versions.ts';
import type { StructSchema } from '../../api/schema/type-schema.ts';
import type { FieldCause } from '../../api/status-error.ts';
import type { TableColumnDefinition } from '../../api/gen/meta-v1.ts';
import type { ApiRequest, ApiResponse } from '../../api/transport.ts';
import type { RequestContext } from '../request-context.ts';

/** The rules for creating and changing objects of a resource. `draft`s are private and changed in place. */
export interface Strategy<T extends KubernetesObject> {
  /** Sets defaults like upstream's conversion. Called for every decoded body and for stored objects. */
  applyDefaults?(draft: T): void;
  /** Clears fields that a creator may not set (status …), sets generation 1. */
  prepareForCreate?(draft: T, context: RequestContext): void;
  /** Validation errors with upstream's paths and texts; the generic handler validates metadata. */
  validate(object: T, context: RequestContext): FieldCause[];
  /** Restores fields that an updater may not change; increases generation when the spec changed. */
  prepareForUpdate?(draft: T, old: T, context: RequestContext): void;
  validateUpdate(object: T, old: T, context: RequestContext): FieldCause[];
  /** Validates creates and updates in steps, where it may take long: `old` is undefined for creates. */
  validationSteps?(object: T, old: T | undefined, context: RequestContext): Steps<FieldCause[]>;
  /** Texts for Warning headers. */
  warnings?(object: T, old: T | undefined): string[];
  /** The rule for names of finalizers; default: that of the resource's group. */
  readonly finalizerNames?: FinalizerNames;
  /**
   * Fields that writers here do not own, since they are reset. Default: the status for the object, the spec for the
   * status. Upstream: GetResetFields.
   */
  readonly resetFields?: FieldNode;
  readonly allowCreateOnUpdate?: boolean;
  /** Whether a PUT without resourceVersion overwrites. */
  readonly allowUnconditionalUpdate?: boolean;
  /** Validates names of this resource; default: DNS subdomains. Returns the error text. */
  validateName?(name: string, prefix: boolean): string[];
  /** Graceful deletion: seconds to grant (0: delete now), may replace fields of the draft and of its metadata (deletionTimestamp is set by the caller). Absent: immediate. */
  gracefulDeletionSeconds?(object: T, requestedSeconds: Int64 | undefined): Int64;
  /** Marked objects have a deletionTimestamp and no deletionGracePeriodSeconds (namespaces, definitions). */
  readonly deletesWithoutPeriod?: boolean;
  /**
   * Takes external resources (cluster IPs, node ports) before a create or update is stored. Called after validation
   * and admission, may change the draft; call `commit` after the write, `rollback` when it failed or is a dry run.
   */
  allocate?(draft: T, old: T | undefined, dryRun: boolean): Promise<{ commit(): void; rollback(): void } | undefined>;
  /**
   * Whether something besides metadata.finalizers keeps a deleted object in the store (namespaces: spec.finalizers).
   * A DELETE then only marks it, and it is removed by the first update, of any sub-resource, that leaves no finalizer
   * of either kind on a marked object.
   */
  blocksDeletion?(object: T): boolean;
}

/** The fields that field selectors may name besides metadata.name and metadata.namespace. */
export type SelectableFields<T> = (object: T) => Readonly<Record<string, string>>;

/** Printer columns and cells, as `kubectl get` shows them. */
export interface Printer<T> {
  readonly columns: readonly TableColumnDefinition[];
  /** One cell per column. `nowMs` is used for ages. */
  cells(object: T, nowMs: number): readonly unknown[];
  /** The order of a list's rows, where it is not that of names. */
  compare?(a: T, b: T): number;
}

/** A sub-resource with its own handler (log, exec, binding, eviction, scale, token, proxy …). */
export interface ConnectSubresource {
  /** HTTP methods it takes. */
  readonly methods: readonly string[];
  /**
   * Serves the request after authorization; it calls admission itself through `SubresourceServices` (CONNECT, or
   * CREATE for POSTs with a body).
   */
  serve(request: ApiRequest, context: RequestContext): Promise<ApiResponse>;
}

/** A sub-resource that reads and writes the same stored object through a strategy of its own (status, ephemeralcontainers, resize, finalize, approval). */
export interface ObjectSubresource<T extends KubernetesObject> {
  readonly strategy: Strategy<T>;
}

/** A POST to a sub-resource with its own kind of body. */
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
 * A sub-resource that accepts a POST (binding, eviction, token): the generic handler decodes, admits (CREATE) and
 * encodes with status 201. Upstream: rest.NamedCreater.
 */
export interface CreateSubresource {
  /** An older API version whose bodies have the same form. */
  readonly olderVersion?: string;
  create(request: NamedCreateRequest): Promise<KubernetesObject>;
}

/** Replicas that no object can have. */
export const UNSET_REPLICAS = -2_147_483_648;

/**
 * The fields behind the `scale` sub-resource. Reads return an autoscaling/v1 Scale with the object's metadata (name,
 * namespace, uid, resourceVersion, creationTimestamp).
 */
export interface ScaleAccess<T extends KubernetesObject> {
  /** `specReplicas` is {@link UNSET_REPLICAS} where the object has none. */
  read(object: T): { readonly specReplicas: number; readonly statusReplicas: number; readonly selector: string };
  write(draft: T, replicas: number): void;
  /** Path of the replicas in managed fields: `['spec', 'replicas']`. */
  readonly replicasPath: readonly string[];
}

/** How stored objects are read; see `ResourceDefinition.reading`. */
export interface StoredConversion {
  readonly key: string;
  /** Reads an object that is stored in this version or, without `convert`, in any. */
  read(stored: KubernetesObject): KubernetesObject;
  /** The form in which another version's object is stored, where `convert` makes none. Default: it is renamed. */
  write?(object: KubernetesObject): KubernetesObject;
  /** Conversions by calls, where versions differ by more than their name. Reject with StatusErrors. */
  readonly convert?: Conversion;
}

/** Conversion of objects by a webhook. */
export interface Conversion {
  /** Converts stored objects of other versions, keeping their order. */
  fromStored(objects: readonly KubernetesObject[]): Promise<readonly KubernetesObject[]>;
  /** A converted object as this version serves it. */
  served(converted: KubernetesObject): KubernetesObject;
  toStored(object: KubernetesObject): Promise<KubernetesObject>;
}

/** One resource, complete. */
export interface ResourceDefinition<T extends KubernetesObject = KubernetesObject> {
  readonly info: ResourceInfo<T>;
  /** The schema of its objects, where it is not a built-in kind's. */
  readonly schema?: StructSchema;
  /** All versions by apiVersion, where they differ, but for those that a webhook converts. */
  readonly versions?: VersionForms | undefined;
  /** Whether this version is stored, among versions that share a prefix. Default: the first without `conversion`. */
  readonly storageVersion?: boolean;
  /** The propagation of a DELETE without one. Default Background; jobs and replication controllers: Orphan. */
  readonly defaultPropagation?: 'Background' | 'Orphan';
  /** A Warning header for a DELETE without propagation. */
  readonly deletionWarning?: string;
  /** Whether DELETE responds with the removed object instead of a Status (pods, …). */
  readonly returnsDeleted?: boolean;
  /** Whether it is served by default; otherwise only by `--runtime-config`. */
  readonly enabledByDefault: boolean;
  /** Store key prefix with trailing slash, as upstream's etcd layout: `/registry/pods/`, `/registry/minions/`. Resources of equal prefix share storage (versions of one kind). */
  readonly storagePrefix: string;
  readonly strategy: Strategy<T>;
  readonly selectableFields?: SelectableFields<T>;
  readonly printer?: Printer<T>;
  readonly objectSubresources?: Readonly<Record<string, ObjectSubresource<T>>>;
  readonly createSubresources?: Readonly<Record<string, CreateSubresource>>;
  readonly scale?: ScaleAccess<T>;
  /** Created once the server's services exist; see `registry/list.ts`. */
  readonly connectSubresources?: Readonly<Record<string, ConnectSubresource>>;
  /**
   * Set for virtual resources (reviews, componentstatuses), which have no storage: `virtual.create` etc. serve them.
   */
  readonly virtual?: VirtualResource;
  /** Keys expire after this time (events). */
  readonly ttlSeconds?: number;
  /** The time in the spec (RFC 3339, microseconds) that heartbeats renew. No rule of the strategy may depend on it. */
  readonly renewedField?: string;
  /**
   * How stored objects are read when they may be of another version or an older schema (custom resources). `key`
   * identifies this way of reading among all the resource ever had; unchanged objects are returned as they are.
   */
  readonly reading?: StoredConversion;
  /** A Warning header for all clients of this version. */
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
