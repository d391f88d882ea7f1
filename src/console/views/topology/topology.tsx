/** The topology: pods on nodes, services and their pods, reachability under network policies, and volumes. */
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Kind } from '../../api/kinds.ts';
import { chooseNamespace, kindNamed, kinds, listableKind } from '../../app/cluster-state.ts';
import { href, namespace } from '../../app/router.ts';
import { texts } from '../../app/texts.ts';
import type { ViewProps } from '../contract.ts';
import { NodesTab } from './nodes-tab.tsx';
import { PoliciesTab } from './policies-tab.tsx';
import { ServicesTab } from './services-tab.tsx';
import { VolumesTab } from './volumes-tab.tsx';

interface TabProps {
  readonly params: URLSearchParams;
  readonly pods: Kind;
}

/** Every tab, with the kind that the user must be able to list. */
const TABS: readonly {
  readonly name: keyof typeof texts.topology.tabs;
  readonly kind: string;
  readonly Tab: ComponentType<TabProps>;
}[] = [
  { name: 'nodes', kind: 'pods', Tab: NodesTab },
  { name: 'services', kind: 'services', Tab: ServicesTab },
  { name: 'policies', kind: 'networkpolicies.networking.k8s.io', Tab: PoliciesTab },
  { name: 'volumes', kind: 'persistentvolumeclaims', Tab: VolumesTab },
];

export function View({ route }: ViewProps) {
  const pods = kindNamed('pods');
  useEffect(() => {
    if (pods !== undefined) chooseNamespace(pods);
  }, [pods]);
  if (kinds.value.length === 0 || pods === undefined) return <p class="notice">{texts.shell.loading}</p>;
  const offered = TABS.filter(({ kind }) => listableKind(kind) !== undefined);
  const current = TABS.find(({ name }) => name === (route.path[0] ?? 'nodes'));
  if (current === undefined) return <p class="notice">{texts.shell.noView}</p>;
  return (
    <section class="topology">
      <header>
        <h1>{texts.topology.title}</h1>
        <nav class="topology-tabs" aria-label={texts.topology.title}>
          {offered.map(({ name }) => (
            <a
              key={name}
              href={href(['topology', name], { ns: namespace.value })}
              aria-current={name === current.name ? 'page' : undefined}
            >
              {texts.topology.tabs[name]}
            </a>
          ))}
        </nav>
      </header>
      {offered.includes(current) ? (
        <current.Tab params={route.params} pods={pods} />
      ) : (
        <p class="notice">{texts.topology.mayNot}</p>
      )}
    </section>
  );
}
