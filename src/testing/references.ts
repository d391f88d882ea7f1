/** References to objects as in kubectl and in tests: `pod/web-1`, `deployment/shop/web`, or an object with kind and metadata. */
import { allResources } from '../api/gen/resources.ts';
import { compareVersions } from '../apiserver/discovery/groups.ts';
import { didYouMean } from '../base/nearest-name.ts';
import type { KubernetesObject } from '../api/object.ts';
import { apiVersionOf, type ResourceInfo } from '../api/resource-info.ts';

/** `KIND/NAME`, `KIND/NAMESPACE/NAME`, or an object (of which kind, name and namespace are used). */
export type ObjectReference =
  | string
  | {
      readonly apiVersion?: string;
      readonly kind?: string;
      readonly metadata: { readonly name?: string; readonly namespace?: string };
    };

export interface ResolvedReference {
  readonly info: ResourceInfo<KubernetesObject>;
  /** '' for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}

/** Kinds in addition to the built-in ones. */
export type CustomKinds = readonly ResourceInfo<KubernetesObject>[];

/** The resource of a kind, in its preferred version unless one is named. Throws for an unknown kind. */
export function resourceOfKind(
  kind: string,
  apiVersion: string | undefined,
  custom: CustomKinds,
): ResourceInfo<KubernetesObject> {
  const wanted = kind.toLowerCase();
  const named = [...allResources, ...custom].filter((info) => {
    if (apiVersion !== undefined && apiVersionOf(info) !== apiVersion) return false;
    return [info.kind.toLowerCase(), info.singular, info.resource, ...info.shortNames].includes(wanted);
  });
  const [found] = named.filter(({ group }) => group === named[0]?.group).sort(byVersion);
  if (found === undefined) throw new Error(unknownKind(kind, apiVersion, [...allResources, ...custom]));
  return found as ResourceInfo<KubernetesObject>;
}

function unknownKind(kind: string, apiVersion: string | undefined, known: readonly ResourceInfo[]): string {
  const names = (info: ResourceInfo): string[] => [info.kind, info.singular, info.resource, ...info.shortNames];
  if (apiVersion === undefined)
    return `no kind ${kind}${didYouMean(kind, new Set(known.flatMap(names).map((name) => name.toLowerCase())))}`;
  const elsewhere = known.filter((info) => info.kind === kind).map(apiVersionOf);
  if (elsewhere.length > 0) return `no kind ${kind} in ${apiVersion}; it is in ${elsewhere.join(', ')}`;
  const there = known.filter((info) => apiVersionOf(info) === apiVersion);
  if (there.length === 0)
    return `no kind ${kind} in ${apiVersion}: no such version is served${didYouMean(apiVersion, new Set(known.map(apiVersionOf)))}`;
  return `no kind ${kind} in ${apiVersion}${didYouMean(
    kind,
    there.map((info) => info.kind),
  )}`;
}

/** Orders versions; the stored version of a custom kind comes first, whatever its name is. */
const byVersion = (a: ResourceInfo, b: ResourceInfo): number =>
  allResources.includes(a) ? compareVersions(a.version, b.version) : 0;

/** Resolves a reference; the default namespace of namespaced objects is `default`. Throws for an invalid reference. */
export function resolveReference(reference: ObjectReference, custom: CustomKinds): ResolvedReference {
  if (typeof reference !== 'string') {
    const { apiVersion, kind, metadata } = reference;
    if (kind === undefined) throw new Error('the object has no kind: name it as KIND/NAME, or give its kind');
    return resolved(resourceOfKind(kind, apiVersion, custom), metadata.namespace, metadata.name ?? '');
  }
  const parts = reference.split('/');
  const [kind = '', second = '', third] = parts;
  if (parts.length < 2 || parts.length > 3 || parts.includes(''))
    throw new Error(`${JSON.stringify(reference)} is not of the form KIND/NAME or KIND/NAMESPACE/NAME`);
  return third === undefined
    ? resolved(resourceOfKind(kind, undefined, custom), undefined, second)
    : resolved(resourceOfKind(kind, undefined, custom), second, third);
}

function resolved(
  info: ResourceInfo<KubernetesObject>,
  namespace: string | undefined,
  name: string,
): ResolvedReference {
  return { info, namespace: info.namespaced ? (namespace ?? 'default') : '', name };
}

/** A reference as text: `deployment default/web`. */
export function referenceText({ info, namespace, name }: ResolvedReference): string {
  return `${info.singular} ${namespace === '' ? name : `${namespace}/${name}`}`;
}
