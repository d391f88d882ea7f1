/** The start page: whether the cluster is healthy, and what is failing. Every number is a link to the objects that it counts. */
import { momentMs } from '../../app/moment.ts';
import { namespace } from '../../app/router.ts';
import { listableKind } from '../../app/cluster-state.ts';
import { texts } from '../../app/texts.ts';
import { useChartsKept } from './use-charts-kept.ts';
import { useLiveTable } from '../../parts/use-live-table.ts';
import type { ViewProps } from '../contract.ts';
import { Card } from './card.tsx';
import { ComponentsCard } from './components-card.tsx';
import { FailingCard } from './failing-card.tsx';
import { NodesCard } from './nodes-card.tsx';
import { PodsCard } from './pods-card.tsx';
import { UseCard } from './use-card.tsx';
import { WarningsCard } from './warnings-card.tsx';

export function View(_props: ViewProps) {
  const where = { namespace: namespace.value };
  const isPast = momentMs.value !== undefined;
  const pods = useLiveTable(listableKind('pods'), where);
  const nodes = useLiveTable(listableKind('nodes'), where);
  const deployments = useLiveTable(listableKind('deployments.apps'), where);
  const statefulSets = useLiveTable(listableKind('statefulsets.apps'), where);
  useChartsKept(listableKind('nodes') ?? listableKind('pods'), where.namespace);
  const refused = [nodes, pods].map(({ state }) => state.value).find((state) => state.kind === 'refused');
  if (isPast && refused !== undefined)
    return (
      <p class="notice" role="alert">
        {refused.error.message}
      </p>
    );
  return (
    <div class="overview">
      <h1>{texts.overview.title}</h1>
      <div class="overview-cards">
        {listableKind('componentstatuses') === undefined ? null : isPast ? (
          <PresentCard title={texts.overview.components} />
        ) : (
          <ComponentsCard />
        )}
        {listableKind('nodes') === undefined ? null : <NodesCard nodes={nodes} />}
        {listableKind('pods') === undefined ? null : <PodsCard pods={pods} />}
        {listableKind('nodes.metrics.k8s.io') === undefined ? null : isPast ? (
          <PresentCard title={texts.overview.use} />
        ) : (
          <UseCard />
        )}
        <FailingCard tables={{ nodes, pods, 'deployments.apps': deployments, 'statefulsets.apps': statefulSets }} />
        {listableKind('events') === undefined ? null : <WarningsCard />}
      </div>
    </div>
  );
}

/** Replaces a card that cannot show the past. */
function PresentCard({ title }: { readonly title: string }) {
  return (
    <Card title={title}>
      <p class="dim">{texts.time.partOnly}</p>
    </Card>
  );
}
