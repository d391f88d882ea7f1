// What a resource is to a client: names, scope, verbs, sub-resources. Built-in resources are described in
// gen/resources.ts; custom resources produce the same shape at run time. Upstream: metav1.APIResource.

/** A sub-resource such as `status` or `scale`, and the kind its requests carry. */
export interface SubresourceInfo {
  readonly name: string;
  /** Group, version and kind of the body: `scale` takes an autoscaling/v1 Scale. */
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
  /** Plural lower-case name as in paths: `pods`. */
  readonly resource: string;
  readonly kind: string;
  readonly listKind: string;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly subresources: readonly SubresourceInfo[];
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  /** Never present at run time; carries the object type. */
  readonly '~object'?: T;
}

/** `group/version` as `apiVersion` spells it: `v1` for the core group. */
export function apiVersionOf(info: { readonly group: string; readonly version: string }): string {
  return info.group === '' ? info.version : `${info.group}/${info.version}`;
}

/** `deployments.apps`, or `pods` for the core group: upstream's GroupResource text in errors and discovery. */
export function groupResourceOf(info: { readonly group: string; readonly resource: string }): string {
  return info.group === '' ? info.resource : `${info.resource}.${info.group}`;
}
