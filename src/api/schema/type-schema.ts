// The shape of an API type, as every schema-driven algorithm reads it: decoding, pruning, patches, managed fields,
// protobuf, OpenAPI. Built-in types come from the generated tables (schema.ts); a CRD's structural schema produces the
// same interfaces, so no algorithm asks where a schema is from. Upstream spreads this over Go types, struct tags,
// OpenAPI and structured-merge-diff's schema.

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
}

/**
 * A value whose shape is not known here and is kept as it came. `object` must be an object (upstream's RawExtension),
 * `fieldsV1` is a managed-fields set, `json` is any value; `schemaOr…` are the unions inside a CRD's JSON schema.
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
  /** `core.v1.PodSpec` for built-in types; any stable name for others. */
  readonly name: string;
  /** Group, version and kind when this is a root type. */
  readonly gvk?: readonly [string, string, string];
  readonly fields: ReadonlyMap<string, FieldSchema>;
  /** Owned and merged as one value by server-side apply (x-kubernetes-map-type: atomic). */
  readonly atomic: boolean;
  /** x-kubernetes-preserve-unknown-fields: unknown fields are kept and no error. */
  readonly preserveUnknown: boolean;
  /** x-kubernetes-embedded-resource. */
  readonly embedded: boolean;
  /** A custom resource's root: its values are kept as they came and judged by validation, not by decoding. */
  readonly custom?: boolean;
}

/** A list; `set` and `map` lists merge by value and by keys. */
export interface ListSchema {
  readonly kind: 'list';
  readonly items: TypeSchema;
  readonly listType: 'atomic' | 'set' | 'map';
  /** Fields of the items that identify them when `listType` is `map`; empty otherwise. */
  readonly keys: readonly string[];
}

/** An object with arbitrary keys and values of one type. */
export interface MapSchema {
  readonly kind: 'map';
  readonly values: TypeSchema;
  readonly atomic: boolean;
  /** Custom resources: null stands for no entry, as the schema of the values allows no null. */
  readonly dropsNulls?: boolean;
}

/** The schema of any value. */
export type TypeSchema = ScalarSchema | AnySchema | StructSchema | ListSchema | MapSchema;

/** One field of a struct. */
export interface FieldSchema {
  readonly name: string;
  readonly type: TypeSchema;
  readonly required: boolean;
  /** Held as a pointer upstream: absent and zero differ. */
  readonly pointer: boolean;
  /** A zero value is dropped when written, unless the field is a pointer or a struct. */
  readonly omitempty: boolean;
  /** A null value is kept (CRDs only). */
  readonly nullable: boolean;
  /** Protobuf numbers from the struct's message inwards; empty when the field is JSON only. */
  readonly pb: readonly number[];
  /** On the wire each list of strings is wrapped in a message of its own. */
  readonly pbWrapped: boolean;
  /** `merge`, `replace`, `retainKeys` in any combination. */
  readonly patchStrategies: readonly string[];
  readonly patchMergeKey: string | undefined;
  readonly default: unknown;
  /** Named values; any other is invalid when `closed`. */
  readonly values: readonly string[];
  readonly closed: boolean;
}
