/** Kinds of custom resource definitions, for references and manifests. */
import type { CustomResourceDefinition } from '../api/gen/apiextensions-v1.ts';
import { CustomResourceDefinitions } from '../api/gen/resources.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import type { ObjectStore } from '../apiserver/registry/object-store.ts';

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** The served versions of all definitions, the stored version of each first. */
export function customKinds(objects: ObjectStore | undefined): readonly ResourceInfo<KubernetesObject>[] {
  return objects?.list(CustomResourceDefinitions).flatMap(kindsOf) ?? [];
}

function kindsOf({ spec }: CustomResourceDefinition): ResourceInfo<KubernetesObject>[] {
  const { group, names, scope, versions } = spec;
  return versions
    .filter(({ served }) => served)
    .toSorted((a, b) => Number(b.storage) - Number(a.storage))
    .map(({ name }) => ({
      group,
      version: name,
      resource: names.plural,
      kind: names.kind,
      listKind: names.listKind ?? `${names.kind}List`,
      singular: names.singular ?? names.kind.toLowerCase(),
      namespaced: scope === 'Namespaced',
      verbs: VERBS,
      subresources: [],
      shortNames: names.shortNames ?? [],
      categories: names.categories ?? [],
    }));
}
