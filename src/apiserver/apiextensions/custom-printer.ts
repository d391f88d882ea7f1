/** Tables of custom resources from their additionalPrinterColumns. Upstream: customresource/tableconvertor. */
import { ageOf } from '../../api/age.ts';
import { stringifyJson } from '../../api/codec/json.ts';
import type { CustomResourceColumnDefinition } from '../../api/gen/apiextensions-v1.ts';
import type { TableColumnDefinition } from '../../api/gen/meta-v1.ts';
import { findValues } from '../../api/json-path-search.ts';
import { type JsonPath, JsonPathError, parseJsonPath } from '../../api/json-path.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { ageColumn, nameColumn } from '../registry/printing.ts';
import type { Printer } from '../registry/resource-definition.ts';

const onlyAge: readonly CustomResourceColumnDefinition[] = [
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp', description: ageColumn.description },
];

interface Column {
  readonly type: string;
  readonly path: JsonPath;
}

/** The table printer; a resource without columns of its own shows its age. */
export function customPrinter(
  columns: readonly CustomResourceColumnDefinition[] | undefined,
): Printer<KubernetesObject> {
  const shown = columns === undefined || columns.length === 0 || !columns.every(isReadable) ? onlyAge : columns;
  const parsed: Column[] = shown.map(({ type, jsonPath }) => ({ type, path: parseJsonPath(jsonPath) }));
  const headers = shown.map(
    ({ name, type, format = '', description = '', jsonPath, priority = 0 }): TableColumnDefinition => ({
      name,
      type,
      format,
      description:
        description === '' ? `Custom resource definition column (in JSONPath format): ${jsonPath}` : description,
      priority,
    }),
  );
  return {
    columns: [nameColumn, ...headers],
    cells: (object, nowMs) => [object.metadata.name ?? '', ...parsed.map((column) => cell(column, object, nowMs))],
  };
}

/** A column with an invalid path makes the table use the default columns, as upstream. */
function isReadable({ jsonPath }: CustomResourceColumnDefinition): boolean {
  try {
    parseJsonPath(jsonPath);
    return true;
  } catch (error) {
    if (error instanceof JsonPathError) return false;
    throw error;
  }
}

function cell({ type, path }: Column, object: KubernetesObject, nowMs: number): unknown {
  const [value] = findValues(path, object);
  if (value === undefined || value === null) return null;
  switch (type) {
    case 'string':
      return typeof value === 'string' ? value : stringifyJson(value);
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : typeof value === 'bigint' ? value : null;
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date': {
      if (typeof value !== 'string') return null;
      const age = ageOf(value, nowMs);
      return age === '<unknown>' ? '<invalid>' : age;
    }
    default:
      return null;
  }
}
