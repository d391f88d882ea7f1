/** Services and their pods as diagrams, from one watch of services and one of the visible services' endpoint slices. */
import { useMemo } from 'preact/hooks';
import { cellReader } from '../../api/cells.ts';
import type { Kind } from '../../api/kinds.ts';
import { isRead } from '../../api/table-list.ts';
import { listableKind } from '../../app/cluster-state.ts';
import { namespace } from '../../app/router.ts';
import { texts } from '../../app/texts.ts';
import { parseFilter } from '../../parts/filter.ts';
import { FlowGraph } from '../../parts/flow/flow-graph.tsx';
import { useLiveTable } from '../../parts/use-live-table.ts';
import { FlowBar } from './flow-bar.tsx';
import { MoreButton, usePage } from './paging.tsx';
import { serviceFlow } from './service-flow.ts';

const COLUMNS = ['Type', 'Cluster-IP', 'External-IP', 'Port(s)', 'Selector'];
/** Cells that stand for an absent value. */
const NOTHING = new Set(['', '<none>', '<pending>']);

export function ServicesTab({ params, pods }: { readonly params: URLSearchParams; readonly pods: Kind }) {
  const filterText = params.get('q') ?? '';
  const filter = useMemo(() => parseFilter(filterText), [filterText]);
  const { labelSelector, fieldSelector } = filter;
  const services = listableKind('services');
  const slices = listableKind('endpointslices.discovery.k8s.io');
  const table = useLiveTable(services, { namespace: namespace.value, labelSelector, fieldSelector });
  const page = usePage(table, filter);
  const names = [...new Set(page.rows.map(({ name }) => name))].sort().join(',');
  const sliceTable = useLiveTable(names === '' ? undefined : slices, {
    namespace: namespace.value,
    labelSelector: `kubernetes.io/service-name in (${names})`,
    withObjects: true,
  });
  const flow = useMemo(() => {
    if (services === undefined || slices === undefined) return undefined;
    const cell = (name: string) => cellReader(table.columns.value, name);
    const [type, address, external, ports, selector] = COLUMNS.map(cell);
    const rows = page.rows.map((row) => ({
      row,
      detail: [type!(row), address!(row), type!(row) === 'ClusterIP' ? '' : external!(row), ports!(row)]
        .filter((text) => !NOTHING.has(text))
        .join(' '),
      selector: NOTHING.has(selector!(row)) ? '' : selector!(row),
    }));
    return serviceFlow(rows, sliceTable.rows.shown, { services, slices, pods });
  }, [services, slices, table.version.value, sliceTable.version.value, filter, page.rows.length]);
  const state = table.state.value;
  return (
    <>
      <FlowBar table={table} filterText={filterText} />
      {slices === undefined ? <p class="notice">{texts.topology.mayNot}</p> : null}
      {page.rows.length === 0 && isRead(state) ? (
        <p class="notice">{filterText === '' ? texts.list.none : texts.list.noneMatch}</p>
      ) : null}
      {flow === undefined || page.rows.length === 0 ? null : (
        <div class="topology-flow">
          <FlowGraph flow={flow} label={texts.topology.services.label} />
          <MoreButton page={page} />
        </div>
      )}
    </>
  );
}
