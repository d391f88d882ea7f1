/**
 * The current policies with their bindings, compiled when first needed. Rebuilt at the first request after a change.
 * Upstream: generic/policy_source.go.
 */
import type { KubernetesObject, Stored } from '../../../api/object.ts';
import type { ResourceInfo } from '../../../api/resource-info.ts';
import type { ObjectStore } from '../../registry/object-store.ts';

/** A binding of either kind. */
interface AnyBinding extends KubernetesObject {
  spec?: { policyName?: string };
}

/** One policy that has bindings. */
export interface PolicyHook<P, B, C> {
  readonly policy: P;
  readonly bindings: readonly B[];
  /** Compiles at the first call. */
  compiled(): C;
}

/** Follows policies and bindings. Returns a function that gives the current hooks, sorted by policy name. */
export function followPolicies<P extends KubernetesObject, B extends AnyBinding, C>(
  objects: ObjectStore,
  kinds: { readonly policies: ResourceInfo<P>; readonly bindings: ResourceInfo<B> },
  compile: (policy: P) => C,
): () => readonly PolicyHook<P, B, C>[] {
  let current: readonly PolicyHook<P, B, C>[] | undefined;
  // Kept when other policies change: compiling costs more than everything else.
  const compiled = new WeakMap<P, { readonly result: C }>();
  const forget = (): void => {
    current = undefined;
  };
  objects.onChange(kinds.policies, forget);
  objects.onChange(kinds.bindings, forget);
  const compiledOf = (policy: P): C => {
    const cached = compiled.get(policy) ?? { result: compile(policy) };
    compiled.set(policy, cached);
    return cached.result;
  };
  const make = (): PolicyHook<P, B, C>[] => {
    const bindings = byName(objects.list(kinds.bindings));
    return byName(objects.list(kinds.policies)).flatMap((policy) => {
      const own = bindings.filter((binding) => binding.spec?.policyName === policy.metadata.name);
      return own.length === 0 ? [] : [{ policy, bindings: own, compiled: () => compiledOf(policy) }];
    });
  };
  return () => (current ??= make());
}

function byName<T extends KubernetesObject>(objects: readonly Stored<T>[]): Stored<T>[] {
  return objects.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}
