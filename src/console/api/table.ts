/** Rows of the server's tables, reduced to what lists show. */
import type { TableColumnDefinition } from '../../api/gen/meta-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';

export type Cell = string | number | boolean | null;

/** A column. `wide` columns are shown only when there is room for all. */
export interface Column {
  readonly name: string;
  readonly type: string;
  readonly description: string;
  readonly wide: boolean;
}

/** One object of a list. A change creates a new row. */
export interface Row {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly createdMs: number;
  readonly deleting: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly cells: readonly Cell[];
  /** The object itself, in lists that request it. */
  readonly object?: KubernetesObject | undefined;
}

interface RowMeta {
  readonly uid: string;
  readonly namespace?: string;
  readonly name: string;
  readonly creationTimestamp?: string | null;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly resourceVersion?: string;
}

/** The fields of meta.k8s.io/v1 Table that are read here. */
export interface Table {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly columnDefinitions?: readonly TableColumnDefinition[] | null;
  readonly rows?: readonly TableRow[] | null;
}

export interface TableRow {
  readonly cells: readonly unknown[];
  readonly object: { readonly metadata: RowMeta };
}

export const TABLE_TYPE = 'application/json;as=Table;v=v1;g=meta.k8s.io';

const noLabels = {};

export function columnsOf(definitions: readonly TableColumnDefinition[]): readonly Column[] {
  return definitions.map(({ name, type, description, priority }) => ({
    name,
    type,
    description: description ?? '',
    wide: (priority ?? 0) > 0,
  }));
}

export function rowOf({ cells, object }: TableRow, withObject = false): Row {
  const { uid, namespace, name, creationTimestamp, deletionTimestamp, labels } = object.metadata;
  return {
    uid,
    namespace: namespace ?? '',
    name,
    createdMs: creationTimestamp == null ? 0 : Date.parse(creationTimestamp),
    deleting: deletionTimestamp !== undefined,
    labels: labels ?? noLabels,
    cells: cells.map(cellOf),
    object: withObject ? (object as KubernetesObject) : undefined,
  };
}

function cellOf(value: unknown): Cell {
  if (value === null || value === undefined) return null;
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? value
    : JSON.stringify(value);
}
