// A resource for clients: names, scope, verbs, sub-resources. gen/resources.ts describes built-in resources; custom resources
// have the same type at run time. Upstream: metav1.APIResource.

/** A sub-resource such as `status` or `scale`, and the kind of its request bodies. */
export interface SubresourceInfo {
  readonly name: string;
  /** Group, version and kind of the body: that of `scale` is an autoscaling/v1 Scale. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly verbs: readonly string[];
}

/** A resource in one version. `T` is the type of its objects and exists only for the compiler. */
export interface ResourceInfo<T = unknown> {
  /** API group; empty for the core group. */
  readonly group: string;
  readonly version: string;
  /** The plural lower-case name as in paths: `pods`. */
  readonly resource: string;
  readonly kind: string;
  readonly listKind: string;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  /** Verbs that are served and not named in discovery: those that make objects of a kind that is going. */
  readonly hiddenVerbs?: readonly string[];
  readonly subresources: readonly SubresourceInfo[];
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  /** Absent at run time; its type is the object type. */
  readonly '~object'?: T;
}

/** The value of `apiVersion`: `group/version`, or `v1` for the core group. */
export function apiVersionOf(info: { readonly group: string; readonly version: string }): string {
  return info.group === '' ? info.version : `${info.group}/${info.version}`;
}

/** Upstream's GroupResource text in errors and discovery: `deployments.apps`, or `pods` for the core group. */
export function groupResourceOf(info: { readonly group: string; readonly resource: string }): string {
  return info.group === '' ? info.resource : `${info.resource}.${info.group}`;
}
