/** Nodes with their pods, from one watch of each as tables. */
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { Kind } from '../../api/kinds.ts';
import { isRead, type ListState } from '../../api/table-list.ts';
import { listableKind } from '../../app/cluster-state.ts';
import { objectHref } from '../../app/hrefs.ts';
import { momentMs } from '../../app/moment.ts';
import { namespace, navigate } from '../../app/router.ts';
import { texts } from '../../app/texts.ts';
import { type Filter, matches, parseFilter } from '../../parts/filter.ts';
import { actionsFor } from '../../parts/list-actions.ts';
import { LiveList } from '../../parts/live-table.ts';
import { NodeUseSource } from '../../parts/node-use.ts';
import { useLiveTable } from '../../parts/use-live-table.ts';
import { fittingSize, measuresOf, TILE_SIZES } from './layout.ts';
import { Legend } from './legend.tsx';
import { MapBar } from './map-bar.tsx';
import { PodTiles } from './pod-tiles.ts';
import { type Grouping, type SceneGroup, sceneOf } from './scene.ts';
import type { Shown } from './tile-card.tsx';
import { type Size, TileMap } from './tile-map.tsx';
import { usePodUse } from './use-pod-use.ts';

/** With more pods the metrics are not requested, because the response would be expensive for the server. */
const MOST_MEASURED = 5000;

export function NodesTab({ params, pods: kind }: { readonly params: URLSearchParams; readonly pods: Kind }) {
  const filterText = params.get('q') ?? '';
  const filter = useMemo(() => parseFilter(filterText), [filterText]);
  const pods = useTiles(kind, filter);
  const nodeKind = listableKind('nodes');
  const nodes = useLiveTable(nodeKind, { namespace: '' });
  const grouping: Grouping = params.get('group') === 'zone' ? 'zone' : 'none';
  const isPast = momentMs.value !== undefined;
  const use = useNodeUse(!isPast && listableKind('nodes.metrics.k8s.io') !== undefined);
  const groups = useMemo(
    () =>
      sceneOf({
        pods: pods.rows,
        nodes: { rows: nodes.rows, columns: nodes.columns.value },
        use,
        grouping,
        showsEmpty: (row) => matches(filter, row) && filter.labelSelector === '' && filter.fieldSelector === '',
        noZone: texts.topology.noZone,
      }),
    [pods.version.value, nodes.version.value, use, grouping, filter],
  );
  const size = useSignal<Size>({ width: 0, height: 0 });
  const tileSize = useTileSize(groups, size.value, { params, loaded: pods.rows.size });
  const measured = !isPast && listableKind('pods.metrics.k8s.io') !== undefined;
  const few = pods.rows.size <= MOST_MEASURED;
  const measure = measureOf(params.get('fill'));
  const fill = usePodUse({
    measure: measured && few ? measure : undefined,
    namespace: namespace.value,
    labelSelector: filter.labelSelector,
  });
  const actions = actionsFor(kind);
  const onKey = (key: string, { tile }: Shown): boolean => {
    const action = actions.find((one) => one.key === key);
    if (tile === undefined || action === undefined) return false;
    navigate(action.href({ kind, namespace: tile.row.namespace, name: tile.row.name }));
    return true;
  };
  const hrefOf = ({ node, tile }: Shown): string | undefined => {
    if (tile !== undefined) return objectHref('object', { kind, namespace: tile.row.namespace, name: tile.row.name });
    if (node?.row === undefined || nodeKind === undefined) return undefined;
    return objectHref('object', { kind: nodeKind, namespace: '', name: node.name });
  };
  return (
    <>
      <MapBar
        list={pods}
        filterText={filterText}
        grouping={grouping}
        measure={measured ? (measure ?? '') : undefined}
        size={tileSize}
      />
      <Legend
        counts={pods.rows.counts}
        nodeUse={use !== undefined && use.length > 0 && measuresOf(tileSize).head > 0}
        fill={fillText(fill.full, { wanted: measured && measure !== undefined, few })}
      />
      <Notice state={pods.state.value} isEmpty={groups.length === 0} isFiltered={filterText !== ''} />
      <TileMap
        groups={groups}
        tileSize={tileSize}
        levelOf={fill.levelOf}
        useOf={fill.useOf}
        onSize={(now) => (size.value = now)}
        hrefOf={hrefOf}
        onKey={onKey}
      />
    </>
  );
}

interface NoticeProps {
  readonly state: ListState;
  readonly isEmpty: boolean;
  readonly isFiltered: boolean;
}

function Notice({ state, isEmpty, isFiltered }: NoticeProps) {
  if (state.kind === 'refused')
    return (
      <p class="notice" role="alert">
        {state.error.message}
      </p>
    );
  if (!isEmpty || !isRead(state)) return null;
  return <p class="notice">{isFiltered ? texts.list.noneMatch : texts.list.none}</p>;
}

function fillText(full: string, { wanted, few }: { readonly wanted: boolean; readonly few: boolean }): string {
  if (!wanted) return '';
  return few ? texts.topology.fullTile(full) : texts.topology.tooManyToMeasure(MOST_MEASURED);
}

function measureOf(text: string | null): 'cpu' | 'memory' | undefined {
  return text === 'cpu' || text === 'memory' ? text : undefined;
}

/** The pods as tiles. The server filters by labels and fields, the page by words. */
function useTiles(kind: Kind, filter: Filter): LiveList<PodTiles> {
  const list = useMemo(() => new LiveList(new PodTiles()), []);
  const where = namespace.value;
  const { labelSelector, fieldSelector } = filter;
  const atMs = momentMs.value;
  useEffect(
    () => list.follow({ kind, namespace: where, labelSelector, fieldSelector, atMs }),
    [kind, where, labelSelector, fieldSelector, atMs],
  );
  useMemo(() => {
    const all = filter.words.length === 0 && filter.without.length === 0;
    list.rows.setFilter(all ? undefined : (row) => matches(filter, row));
  }, [filter]);
  useEffect(() => () => list.stop(), []);
  return list;
}

function useNodeUse(isServed: boolean): ReturnType<typeof nodesOf> {
  const source = useMemo(() => new NodeUseSource(), []);
  useEffect(() => (isServed ? source.start() : undefined), [isServed]);
  const nodes = nodesOf(source);
  return isServed ? nodes : undefined;
}

function nodesOf(source: NodeUseSource) {
  return source.nodes.value;
}

interface Chosen {
  readonly params: URLSearchParams;
  readonly loaded: number;
}

/** The size of tiles from the address, else the largest at which everything is visible. */
function useTileSize(groups: readonly SceneGroup[], { width, height }: Size, { params, loaded }: Chosen): number {
  const chosen = TILE_SIZES.find((size) => String(size) === params.get('size'));
  // The size is computed again after some more pods, not after each.
  const fitting = useMemo(
    () => fittingSize(groups, width, height),
    [width, height, Math.round(Math.log2(loaded + 1) * 3), groups.length],
  );
  return chosen ?? fitting;
}
