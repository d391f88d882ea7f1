// The facts about the API from which code is generated. A fact type is named `<package>.<version>.<Type>` (`core.v1.Pod`); the
// few without a version (`resource.Quantity`) are scalars.

/** One JSON field of a type; tools/facts/README.md describes each property. */
export interface FactField {
  readonly type: string;
  /**
   * The protobuf number, or the path of numbers through embedded messages (`2.1`); absent for a field that exists only in JSON.
   */
  readonly number?: string;
  readonly required?: boolean;
  readonly pointer?: boolean;
  readonly omitempty?: boolean;
  readonly wrapped?: boolean;
  readonly listType?: string;
  readonly listMapKeys?: readonly string[];
  readonly mapType?: string;
  readonly patchStrategy?: string;
  readonly patchMergeKey?: string;
  readonly default?: unknown;
  readonly values?: readonly string[];
  /** Whether upstream refuses every other value. */
  readonly closed?: boolean;
}

/** A struct, or a scalar with its own JSON form. */
export interface FactType {
  /** Absent for scalars; empty for objects with any content. */
  readonly fields?: Readonly<Record<string, FactField>>;
  /** Group, version and kind of a root type. */
  readonly gvk?: readonly [string, string, string];
  readonly isAtomic?: boolean;
}

/** One resource or sub-resource. `kind` is group, version, kind of its request bodies. */
export interface FactResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly kind: readonly [string, string, string];
}

/** All types by name, and all resources. */
export interface Facts {
  readonly types: ReadonlyMap<string, FactType>;
  readonly resources: readonly FactResource[];
}
