/** A list for a component while it is shown: live, or at the selected moment. */
import { useEffect, useMemo } from 'preact/hooks';
import type { Kind } from '../api/kinds.ts';
import { momentMs } from '../app/moment.ts';
import { LiveTable } from './live-table.ts';

export interface Wanted {
  readonly namespace: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Rows include their objects. */
  readonly withObjects?: boolean;
}

/** Without a kind the list stays empty: the server lacks the kind, or the user may not list it. */
export function useLiveTable(
  kind: Kind | undefined,
  { namespace, labelSelector = '', fieldSelector = '', withObjects = false }: Wanted,
): LiveTable {
  const table = useMemo(() => new LiveTable(), []);
  const atMs = momentMs.value;
  useEffect(() => {
    const where = kind?.namespaced === true ? namespace : '';
    if (kind === undefined) table.clear();
    else table.follow({ kind, namespace: where, labelSelector, fieldSelector, withObjects, atMs });
  }, [kind, namespace, labelSelector, fieldSelector, withObjects, atMs]);
  useEffect(() => () => table.stop(), []);
  return table;
}
