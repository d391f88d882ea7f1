// The schema of an API type, as every schema-driven algorithm reads it: decoding, pruning, patches, managed fields, protobuf,
// OpenAPI. Built-in types come from the generated tables (schema.ts), and a CRD's structural schema becomes the same interfaces,
// so no algorithm depends on the origin of a schema. Upstream's counterparts are Go types, struct tags, OpenAPI and
// structured-merge-diff's schema.

/** Leaf types. `quantity`, `time`, `microTime` and `bytes` (base64) are strings in JSON. */
export type ScalarName =
  | 'string'
  | 'boolean'
  | 'int32'
  | 'int64'
  | 'double'
  | 'bytes'
  | 'quantity'
  | 'time'
  | 'microTime'
  | 'intOrString';

export interface ScalarSchema {
  readonly kind: 'scalar';
  readonly scalar: ScalarName;
  /** Custom resources: an object in its place, which validation refuses, keeps its fields. */
  readonly preserveUnknown?: boolean;
}

/**
 * A value without a schema, which is kept unchanged. `object` must be an object (upstream's RawExtension), `fieldsV1` is a
 * managed-fields set, `json` is any value; `schemaOr…` are the unions inside a CRD's JSON schema.
 */
export interface AnySchema {
  readonly kind: 'any';
  readonly form: 'object' | 'fieldsV1' | 'json' | 'schemaOrArray' | 'schemaOrBool' | 'schemaOrStringArray';
  /** x-kubernetes-embedded-resource: the object has apiVersion, kind and metadata of its own. */
  readonly embedded?: boolean;
}

/** An object with known fields. */
export interface StructSchema {
  readonly kind: 'struct';
  /** `core.v1.PodSpec` for built-in types; a stable name for others. */
  readonly name: string;
  /** Group, version and kind of a root type. */
  readonly gvk?: readonly [string, string, string];
  readonly fields: ReadonlyMap<string, FieldSchema>;
  /** Owned and merged as one value by server-side apply (x-kubernetes-map-type: atomic). */
  readonly atomic: boolean;
  /** x-kubernetes-preserve-unknown-fields: unknown fields are kept without an error. */
  readonly preserveUnknown: boolean;
  /** x-kubernetes-embedded-resource. */
  readonly embedded: boolean;
  /** Set for the root of a custom resource: decoding keeps its values, and validation checks them. */
  readonly custom?: boolean;
}

/** A list. Lists of type `set` merge by value, those of type `map` by keys. */
export interface ListSchema {
  readonly kind: 'list';
  readonly items: TypeSchema;
  readonly listType: 'atomic' | 'set' | 'map';
  /** The fields that identify an item when `listType` is `map`; otherwise empty. */
  readonly keys: readonly string[];
  /** As of {@link ScalarSchema}. */
  readonly preserveUnknown?: boolean;
}

/** An object with arbitrary keys and values of one type. */
export interface MapSchema {
  readonly kind: 'map';
  readonly values: TypeSchema;
  readonly atomic: boolean;
  /** In custom resources a null entry is dropped when the schema of the values does not allow null. */
  readonly dropsNulls?: boolean;
}

/** The schema of any value. */
export type TypeSchema = ScalarSchema | AnySchema | StructSchema | ListSchema | MapSchema;

/** One field of a struct. */
export interface FieldSchema {
  readonly name: string;
  readonly type: TypeSchema;
  readonly required: boolean;
  /** Upstream's field is a pointer: absent and zero differ. */
  readonly pointer: boolean;
  /** A zero value is dropped when written, unless the field is a pointer or a struct. */
  readonly omitempty: boolean;
  /** A null value is kept (CRDs only). */
  readonly nullable: boolean;
  /** Protobuf numbers from the struct's message inwards; empty when the field exists only in JSON. */
  readonly pb: readonly number[];
  /** In protobuf each list of strings is wrapped in a message of its own. */
  readonly pbWrapped: boolean;
  /** Any of `merge`, `replace`, `retainKeys`. */
  readonly patchStrategies: readonly string[];
  readonly patchMergeKey: string | undefined;
  readonly default: unknown;
  /** Named values; when `closed` is set, all others are invalid. */
  readonly values: readonly string[];
  readonly closed: boolean;
}
