/** Pods, their claims, the volumes, and the volumes' nodes. */
import { useMemo } from 'preact/hooks';
import { cellReader } from '../../api/cells.ts';
import { sendJson } from '../../api/http.ts';
import { type Kind, listPath } from '../../api/kinds.ts';
import { isRead } from '../../api/table-list.ts';
import { listableKind } from '../../app/cluster-state.ts';
import { namespace } from '../../app/router.ts';
import { texts } from '../../app/texts.ts';
import { parseFilter } from '../../parts/filter.ts';
import { FlowGraph } from '../../parts/flow/flow-graph.tsx';
import type { LiveTable } from '../../parts/live-table.ts';
import { useLiveTable } from '../../parts/use-live-table.ts';
import { usePolled } from '../../parts/use-polled.ts';
import { FlowBar } from './flow-bar.tsx';
import { MoreButton, usePage } from './paging.tsx';
import { volumeFlow } from './volume-flow.ts';

/** The limit of pods of a namespace that are read with their objects, because tables lack the claims that a pod mounts. */
const MOST_PODS = 500;
const COUNT_MS = 60_000;

export function VolumesTab({ params, pods }: { readonly params: URLSearchParams; readonly pods: Kind }) {
  const filterText = params.get('q') ?? '';
  const filter = useMemo(() => parseFilter(filterText), [filterText]);
  const { labelSelector, fieldSelector } = filter;
  const where = namespace.value;
  const claims = listableKind('persistentvolumeclaims');
  const volumes = listableKind('persistentvolumes');
  const attachments = listableKind('volumeattachments.storage.k8s.io');
  const table = useLiveTable(claims, { namespace: where, labelSelector, fieldSelector, withObjects: true });
  const volumeTable = useLiveTable(volumes, { namespace: '', withObjects: true });
  const attachmentTable = useLiveTable(attachments, { namespace: '' });
  const few = usePodCount(where === '' ? undefined : listableKind('pods'), where) <= MOST_PODS;
  const podTable = useLiveTable(few ? pods : undefined, { namespace: where, withObjects: true });
  const page = usePage(table, filter);
  const flow = useMemo(() => {
    if (claims === undefined) return undefined;
    return volumeFlow(
      {
        claims: page.rows,
        volumes: volumeTable.rows.shown,
        pods: few ? podTable.rows.shown : undefined,
        attached: attachedTo(attachmentTable),
      },
      { pods, claims, volumes, nodes: listableKind('nodes') },
    );
  }, [
    claims,
    few,
    page.rows.length,
    filter,
    ...[table, volumeTable, attachmentTable, podTable].map(({ version }) => version.value),
  ]);
  return (
    <>
      <FlowBar table={table} filterText={filterText} />
      {few ? null : <p class="topology-hint dim">{texts.topology.volumes.podsOfNamespace}</p>}
      {page.rows.length === 0 && isRead(table.state.value) ? (
        <p class="notice">{filterText === '' ? texts.list.none : texts.list.noneMatch}</p>
      ) : null}
      {flow === undefined || page.rows.length === 0 ? null : (
        <div class="topology-flow">
          <FlowGraph flow={flow} label={texts.topology.volumes.label} />
          <MoreButton page={page} />
        </div>
      )}
    </>
  );
}

function attachedTo(table: LiveTable): ReadonlyMap<string, readonly string[]> {
  const [volume, node, attached] = ['PV', 'Node', 'Attached'].map((name) => cellReader(table.columns.value, name));
  const nodes = new Map<string, string[]>();
  for (const row of table.rows.all())
    if (attached!(row) === 'true') nodes.set(volume!(row), [...(nodes.get(volume!(row)) ?? []), node!(row)]);
  return nodes;
}

/** The number of pods, polled; infinite without a kind, and until it is known. */
function usePodCount(kind: Kind | undefined, where: string): number {
  const { answer = Infinity } = usePolled({
    key: `${kind === undefined} ${where}`,
    periodMs: COUNT_MS,
    ask: async (signal) => {
      if (kind === undefined) return Infinity;
      const path = `${listPath(kind, where)}?limit=1`;
      const { items, metadata } = await sendJson<CountedList>(path, { headers: METADATA, signal });
      return items.length + (metadata.remainingItemCount ?? 0);
    },
    final: () => kind === undefined,
  });
  return answer;
}

const METADATA = { Accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1' };

interface CountedList {
  readonly items: readonly unknown[];
  readonly metadata: { readonly remainingItemCount?: number };
}
