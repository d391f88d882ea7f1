/** Every value in a pod's spec by path, and which row of the tables it falls under: for tests of the tables. */
import { typeSchema } from '../../api/schema/schema.ts';
import type { StructSchema, TypeSchema } from '../../api/schema/type-schema.ts';
import { POD_FIELD_TABLES } from './document.ts';
import type { FieldRow } from './field-rows.ts';

function leaves(struct: StructSchema, prefix: string): string[] {
  return [...struct.fields].flatMap(([name, { type }]) => {
    let path = `${prefix}${name}`;
    let value: TypeSchema = type;
    for (;;) {
      if (value.kind === 'list') [path, value] = [`${path}[]`, value.items];
      else if (value.kind === 'map') [path, value] = [`${path}{}`, value.values];
      else break;
    }
    return value.kind === 'struct' && value.fields.size > 0 ? leaves(value, `${path}.`) : [path];
  });
}

/** Whether a path is a row's or lies below it. */
export function isBelow(path: string, row: string): boolean {
  return path === row || ['.', '[', '{'].some((next) => path.startsWith(`${row}${next}`));
}

/** Paths of all values that are no objects themselves. */
export const podLeaves: readonly string[] = leaves(typeSchema('core.v1.PodSpec') as StructSchema, '');

/** All rows with their whole paths. */
export const podRows: readonly (readonly [path: string, row: FieldRow])[] = POD_FIELD_TABLES.flatMap(
  ({ prefixes, rows }) =>
    prefixes.flatMap((prefix) => Object.entries(rows).map(([path, row]) => [`${prefix}${path}`, row] as const)),
);
