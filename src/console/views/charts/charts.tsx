/** Charts of the last hour: of nodes, pods and workloads together, of one of them, and of the API server's requests. */
import { useEffect } from 'preact/hooks';
import { type Kind, kindId, listPath, type ObjectRef, objectPath } from '../../api/kinds.ts';
import { readApiCharts, readCharts } from '../../api/charts.ts';
import { chooseNamespace, kindNamed, kinds, listableKind, mayGetPath } from '../../app/cluster-state.ts';
import { pluralOf } from '../../app/menu-bar.tsx';
import { objectHref, objectOf } from '../../app/hrefs.ts';
import { href, namespace } from '../../app/router.ts';
import { texts } from '../../app/texts.ts';
import { useMayDo } from '../../parts/access.ts';
import { ObjectHeader } from '../../parts/object-header.tsx';
import type { ViewProps } from '../contract.ts';
import { ChartSetView } from './chart-set.tsx';

const API = 'api';
const LISTS = ['nodes', 'pods', 'deployments.apps', 'statefulsets.apps', 'daemonsets.apps', 'jobs.batch'];
/** The number of objects of a list with lines of their own. */
const LARGEST = 3;

export function View({ route }: ViewProps) {
  const pods = kindNamed('pods');
  useEffect(() => {
    if (pods !== undefined && route.path.length < 2) chooseNamespace(pods);
  }, [pods]);
  if (kinds.value.length === 0) return <p class="notice">{texts.shell.loading}</p>;
  const ref = objectOf(route, kindNamed);
  return ref === undefined ? <Lists chosen={route.path[0]} /> : <OfObject key={objectPath(ref)} of={ref} />;
}

function OfObject({ of: ref }: { readonly of: ObjectRef }) {
  const mayDo = useMayDo(ref);
  const path = objectPath(ref);
  return (
    <section class="charts">
      <ObjectHeader of={ref} mayDo={mayDo} title={texts.charts.title} />
      <ChartSetView of={path} ask={(signal) => readCharts(path, signal)} />
    </section>
  );
}

function Lists({ chosen }: { readonly chosen: string | undefined }) {
  const listable = LISTS.map(listableKind).filter((kind) => kind !== undefined);
  const lists = listable.filter(
    (kind) => ['nodes', 'pods'].includes(kindId(kind)) || listableKind('pods') !== undefined,
  );
  const tabs = [
    ...lists.map((kind) => ({ name: kindId(kind), title: pluralOf(kind) })),
    ...(mayGetPath('/metrics') ? [{ name: API, title: texts.charts.api }] : []),
  ];
  const current = chosen ?? tabs[0]?.name;
  const kind = lists.find((one) => kindId(one) === current);
  const isOffered = tabs.some(({ name }) => name === current);
  return (
    <section class="charts">
      <header class="charts-head">
        <h1>{texts.charts.title}</h1>
        <nav class="charts-tabs" aria-label={texts.charts.title}>
          {tabs.map(({ name, title }) => (
            <a
              key={name}
              href={href(['charts', name], { ns: namespace.value })}
              aria-current={name === current ? 'page' : undefined}
            >
              {title}
            </a>
          ))}
        </nav>
      </header>
      {kind !== undefined ? (
        <OfList key={kindId(kind)} kind={kind} />
      ) : isOffered ? (
        <ChartSetView of={API} ask={readApiCharts}>
          {texts.charts.ownServer}
        </ChartSetView>
      ) : (
        <p class="notice">{texts.charts.mayNot}</p>
      )}
    </section>
  );
}

function OfList({ kind }: { readonly kind: Kind }) {
  const path = listPath(kind, kind.namespaced ? namespace.value : '');
  return (
    <ChartSetView
      of={path}
      ask={(signal) => readCharts(path, signal)}
      showsNamespaces={kind.namespaced && namespace.value === ''}
      hrefOf={(object) => objectHref('charts', { kind, ...object })}
    >
      {texts.charts.largest(LARGEST)}
    </ChartSetView>
  );
}
