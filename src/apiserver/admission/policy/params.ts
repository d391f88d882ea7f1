/** The parameter objects a binding names. Upstream: generic.CollectParams. */
import type { ParamKind, ParamRef } from '../../../api/gen/admissionregistration-v1.ts';
import { compileLabelSelector } from '../../../api/label-selector.ts';
import type { KubernetesObject } from '../../../api/object.ts';
import { apiVersionOf, type ResourceInfo } from '../../../api/resource-info.ts';
import type { GenericStore } from '../../generic-registry/generic-store.ts';
import type { ResourceRegistry } from '../../generic-registry/resource-registry.ts';
import type { ObjectStore } from '../../registry/object-store.ts';

/** The policy or its binding is misconfigured. */
export class ConfigurationError extends Error {}

/** The resource of a parameter kind. Throws {@link ConfigurationError} when none is served. */
export function paramResource(kind: ParamKind, registry: ResourceRegistry): GenericStore {
  const store = servedKind(kind, registry);
  if (store !== undefined) return store;
  throw new ConfigurationError(
    `failed to find resource referenced by paramKind: '${kind.apiVersion ?? ''}, Kind=${kind.kind ?? ''}'`,
  );
}

/** The resource of a parameter kind; undefined when none is served. */
export function servedKind(kind: ParamKind, registry: ResourceRegistry): GenericStore | undefined {
  for (const store of registry.served)
    if (store.info.kind === kind.kind && apiVersionOf(store.info) === kind.apiVersion) return store;
  return undefined;
}

export interface ParamLookup {
  readonly kind: ParamKind | undefined;
  readonly ref: ParamRef | undefined;
  /** The request's namespace. */
  readonly namespace: string;
}

export interface ParamSources {
  readonly registry: ResourceRegistry;
  readonly objects: ObjectStore;
  /** Yields to other requests while many bytes are decoded. */
  pause(): Promise<void> | undefined;
}

/**
 * The parameters with which to evaluate a binding, one after the other: a single undefined where it uses none,
 * nothing where they are missing and that is allowed. Rejects with {@link ConfigurationError}.
 */
export async function collectParams(
  { kind, ref, namespace }: ParamLookup,
  { registry, objects, pause }: ParamSources,
): Promise<readonly (KubernetesObject | undefined)[]> {
  if (kind === undefined || ref === undefined) return [undefined];
  const store = paramResource(kind, registry);
  const place = paramNamespace(store, ref, namespace);
  const params = await find(store, ref, { objects, pause, namespace: place });
  if (params.length === 0 && ref.parameterNotFoundAction === 'Deny')
    throw new ConfigurationError('no params found for policy binding with `Deny` parameterNotFoundAction');
  return params.map((param) => ({ ...param, apiVersion: kind.apiVersion!, kind: kind.kind! }));
}

function paramNamespace({ info }: GenericStore, { namespace = '' }: ParamRef, requested: string): string {
  if (!info.namespaced) {
    if (namespace === '') return '';
    throw new ConfigurationError('paramRef.namespace must not be provided for a cluster-scoped `paramKind`');
  }
  const place = namespace === '' ? requested : namespace;
  if (place !== '') return place;
  throw new ConfigurationError(
    'cannot use namespaced paramRef in policy binding that matches cluster-scoped resources',
  );
}

async function find(
  store: GenericStore,
  { name = '', selector }: ParamRef,
  { objects, pause, namespace }: Pick<ParamSources, 'objects' | 'pause'> & { namespace: string },
): Promise<KubernetesObject[]> {
  const info = store.info as ResourceInfo<KubernetesObject>;
  if (name !== '') {
    const found = objects.get(info, namespace, name) ?? (await objects.getFresh(info, namespace, name));
    return found === undefined ? [] : [found];
  }
  if (selector === undefined) throw new ConfigurationError('one of name or selector must be provided');
  const matcher = compileLabelSelector(selector);
  return (await objects.listInTurns(info, namespace, pause)).filter((object) =>
    matcher.matches(object.metadata.labels),
  );
}
