/** A live list for a component, as long as it is shown. */
import { useEffect, useMemo } from 'preact/hooks';
import type { Kind } from '../api/kinds.ts';
import { LiveTable } from './live-table.ts';

interface Wanted {
  readonly namespace: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Rows have their objects. */
  readonly withObjects?: boolean;
}

/** Without a kind the list stays empty: the server has none such, or the user may not list it. */
export function useLiveTable(
  kind: Kind | undefined,
  { namespace, labelSelector = '', fieldSelector = '', withObjects = false }: Wanted,
): LiveTable {
  const table = useMemo(() => new LiveTable(), []);
  useEffect(() => {
    if (kind === undefined) table.stop();
    else table.follow({ kind, namespace: kind.namespaced ? namespace : '', labelSelector, fieldSelector, withObjects });
  }, [kind, namespace, labelSelector, fieldSelector, withObjects]);
  useEffect(() => () => table.stop(), []);
  return table;
}
