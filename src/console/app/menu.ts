/** The menu: common kinds by subject, all others by group. */
import { findKind, type Kind, kindId } from '../api/kinds.ts';
import { texts } from './texts.ts';

const SECTIONS: readonly (readonly [string, readonly string[]])[] = [
  [
    texts.menu.workloads,
    [
      'pods',
      'deployments.apps',
      'statefulsets.apps',
      'daemonsets.apps',
      'replicasets.apps',
      'jobs.batch',
      'cronjobs.batch',
      'horizontalpodautoscalers.autoscaling',
      'poddisruptionbudgets.policy',
    ],
  ],
  [
    texts.menu.network,
    [
      'services',
      'endpointslices.discovery.k8s.io',
      'ingresses.networking.k8s.io',
      'networkpolicies.networking.k8s.io',
      'gateways.gateway.networking.k8s.io',
      'httproutes.gateway.networking.k8s.io',
    ],
  ],
  [texts.menu.config, ['configmaps', 'secrets', 'resourcequotas', 'limitranges']],
  [texts.menu.storage, ['persistentvolumeclaims', 'persistentvolumes', 'storageclasses.storage.k8s.io']],
  [
    texts.menu.access,
    [
      'serviceaccounts',
      'roles.rbac.authorization.k8s.io',
      'rolebindings.rbac.authorization.k8s.io',
      'clusterroles.rbac.authorization.k8s.io',
      'clusterrolebindings.rbac.authorization.k8s.io',
    ],
  ],
  [
    texts.menu.cluster,
    ['nodes', 'namespaces', 'events', 'leases.coordination.k8s.io', 'customresourcedefinitions.apiextensions.k8s.io'],
  ],
];

export interface MenuSection {
  readonly title: string;
  readonly kinds: readonly Kind[];
}

/** Sections with the kinds that can be listed, without empty sections. Events exist in two groups and appear once. */
export function menuOf(listable: readonly Kind[]): {
  readonly main: readonly MenuSection[];
  readonly other: readonly MenuSection[];
} {
  const main = SECTIONS.map(([title, ids]) => ({
    title,
    kinds: ids.map((id) => listable.find((kind) => kindId(kind) === id)).filter((kind) => kind !== undefined),
  }));
  const named = new Set(main.flatMap((section) => section.kinds));
  const rest = listable.filter((kind) => !named.has(kind) && kindId(kind) !== 'events.events.k8s.io');
  const other = [...Map.groupBy(rest, ({ group }) => group)].map(([group, kinds]) => ({
    title: group || 'core',
    kinds,
  }));
  const filled = ({ kinds }: MenuSection): boolean => kinds.length > 0;
  return { main: main.filter(filled), other: other.filter(filled).sort((a, b) => (a.title < b.title ? -1 : 1)) };
}

/** Kinds that match a typed word: exact names first, then names that begin with it, then names that contain it. */
export function kindsFor(listable: readonly Kind[], word: string): readonly Kind[] {
  const lower = word.trim().toLowerCase();
  if (lower === '') return listable;
  const exact = findKind(listable, lower);
  const starting = listable.filter(({ resource }) => resource.startsWith(lower));
  const containing = listable.filter((kind) =>
    `${kindId(kind)} ${kind.kind.toLowerCase()} ${kind.shortNames.join(' ')}`.includes(lower),
  );
  return [...new Set([...(exact === undefined ? [] : [exact]), ...starting, ...containing])];
}
