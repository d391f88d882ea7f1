/** Builds table printers: columns and common cells. Upstream: printers.PrintHandler, pkg/printers/internalversion. */
import { ageOf } from '../../api/age.ts';
import type { PodSpec } from '../../api/gen/core-v1.ts';
import type { LabelSelector, TableColumnDefinition } from '../../api/gen/meta-v1.ts';
import { formatLabelSelector } from '../../api/label-selector.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { Printer } from './resource-definition.ts';

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  Name: 'Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically.',
  Age: 'CreationTimestamp is a timestamp representing the server time when this object was created.',
};

/** A text column. */
export function column(name: string): TableColumnDefinition {
  return {
    name,
    type: 'string',
    format: name === 'Name' ? 'name' : '',
    description: DESCRIPTIONS[name] ?? '',
    priority: 0,
  };
}

export function integerColumn(name: string): TableColumnDefinition {
  return { ...column(name), type: 'integer' };
}

export function booleanColumn(name: string): TableColumnDefinition {
  return { ...column(name), type: 'boolean' };
}

/** A column that only `-o wide` shows. */
export function wide(definition: TableColumnDefinition): TableColumnDefinition {
  return { ...definition, priority: 1 };
}

export const nameColumn = column('Name');
export const ageColumn = column('Age');

/** Cell of the Age column. */
export function ageCell(object: KubernetesObject, nowMs: number): string {
  return ageOf(object.metadata.creationTimestamp, nowMs);
}

/** A printer with Name first, and Age if it is among the columns; `cells` gives the cells after the name. */
export function printerOf<T extends KubernetesObject>(
  columns: readonly TableColumnDefinition[],
  cells: (object: T, nowMs: number) => readonly unknown[],
): Printer<T> {
  return {
    columns: [nameColumn, ...columns],
    cells: (object, nowMs) => [object.metadata.name ?? '', ...cells(object, nowMs)],
  };
}

/** A printer with Name and Age. */
export const defaultPrinter: Printer<KubernetesObject> = printerOf([ageColumn], (object, nowMs) => [
  ageCell(object, nowMs),
]);

/** A printer with Name and the creation time. Upstream: rest.NewDefaultTableConvertor. */
export const createdPrinter: Printer<KubernetesObject> = printerOf(
  [{ ...column('Created At'), type: 'date', description: ageColumn.description }],
  ({ metadata }) => [metadata.creationTimestamp ?? ''],
);

/** `a=b,c=d` in key order, `<none>` when there is nothing. */
export function formatLabels(labels: Readonly<Record<string, string>> | undefined): string {
  const entries = Object.entries(labels ?? {});
  if (entries.length === 0) return '<none>';
  return entries
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}

/** The texts joined by commas, `<none>` when there are none. */
export function listOrNone(texts: readonly string[] | undefined): string {
  return texts === undefined || texts.length === 0 ? '<none>' : texts.join(',');
}

/** The text, `<none>` when it is absent or empty. */
export function textOrNone(text: string | undefined): string {
  return text === undefined || text === '' ? '<none>' : text;
}

/** Wide columns of workloads. */
export const containerColumns: readonly TableColumnDefinition[] = [wide(column('Containers')), wide(column('Images'))];

/** Cells of {@link containerColumns}. */
export function containerCells(spec: PodSpec | undefined): readonly string[] {
  const containers = spec?.containers ?? [];
  return [
    containers.map((container) => container.name).join(','),
    containers.map((container) => container.image ?? '').join(','),
  ];
}

/** A selector object as a cell: `<none>` when it selects everything or nothing, as upstream. */
export function formatSelectorCell(selector: LabelSelector | undefined): string {
  return textOrNone(formatLabelSelector(selector));
}
