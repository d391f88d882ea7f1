/** Follows the logs of all pods of a workload, also of pods created later. */
import type { KubernetesObject } from '../../../api/object.ts';
import { sendJson } from '../../api/http.ts';
import { type Kind, type ObjectRef, objectPath } from '../../api/kinds.ts';
import type { Row } from '../../api/table.ts';
import { followTable, type RowChange } from '../../api/table-list.ts';
import { belongingsOf } from '../../parts/belongings.ts';
import { followPodLogs, type PodLogsOrder, type PodLogsSink } from './pod-logs.ts';

/** The limit of pods that are followed at once. */
export const MOST_PODS = 20;

export interface WorkloadSink extends PodLogsSink {
  /** Called with the number of pods, followed or not. */
  pods(count: number): void;
}

type Order = Omit<PodLogsOrder, 'pod'>;

/** Continues until the signal aborts. Rejects with `ApiError` when the workload cannot be read. */
export async function followWorkloadLogs(
  workload: ObjectRef,
  {
    pods,
    order,
    gone,
    sink,
  }: { readonly pods: Kind; readonly order: Order; readonly gone: string; readonly sink: WorkloadSink },
  signal: AbortSignal,
): Promise<void> {
  const object = await sendJson<KubernetesObject>(objectPath(workload), { signal });
  const selection = belongingsOf(workload, object).find(({ kind }) => kind === 'pods');
  if (selection === undefined) return;
  const rows = new Map<string, Row>();
  const followed = new Map<string, AbortController>();
  const choose = (): void => {
    sink.pods(rows.size);
    const newest = [...rows.values()].sort((a, b) => b.createdMs - a.createdMs).slice(0, MOST_PODS);
    const names = new Set(newest.map(({ name }) => name));
    for (const [name, life] of followed) {
      if (names.has(name)) continue;
      life.abort();
      followed.delete(name);
    }
    const share = Math.ceil(order.tailLines / Math.max(1, newest.length));
    for (const { name, namespace } of newest) {
      if (followed.has(name)) continue;
      const life = new AbortController();
      followed.set(name, life);
      const one = { ...order, pod: { kind: pods, namespace, name }, tailLines: share };
      void followPodLogs(one, { sink, gone }, AbortSignal.any([signal, life.signal]));
    }
  };
  const change = (changes: readonly RowChange[]): void => {
    for (const { type, row } of changes)
      if (type === 'put') rows.set(row.uid, row);
      else rows.delete(row.uid);
  };
  // The list is read in pages; the newest pods are known when all pages are read.
  let complete = false;
  await followTable(
    { ...selection, kind: pods },
    {
      columns: () => undefined,
      remaining: () => undefined,
      change(changes) {
        change(changes);
        if (complete) choose();
      },
      complete(uids) {
        for (const uid of rows.keys()) if (!uids.has(uid)) rows.delete(uid);
        complete = true;
        choose();
      },
      state(state) {
        if (state.kind === 'refused') sink.problem(state.error.message);
      },
    },
    signal,
  );
}
