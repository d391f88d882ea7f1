/** Values that are valid upstream and not supported here: each is refused with the table's reason. */
import { deepEqual } from '../../base/equal.ts';
import { parseDurationMs } from '../../api/duration.ts';
import { defaultOf, type FieldRow, type FieldTable } from './field-table.ts';
import { FIELDS, type KubeletConfigurationV1Beta1 } from './fields.ts';

function isSameValue(row: FieldRow, a: unknown, b: unknown): boolean {
  return row.type === 'duration' ? parseDurationMs(a as string) === parseDurationMs(b as string) : deepEqual(a, b);
}

function refusalsIn(table: FieldTable, values: Readonly<Record<string, unknown>>, prefix: string): string[] {
  return Object.entries(table).flatMap(([name, row]) => {
    const value = values[name];
    if (typeof row.type === 'object' && 'of' in row.type)
      return refusalsIn(row.type.of, value as Record<string, unknown>, `${prefix}${name}.`);
    if (row.state !== 'refused' && row.accepts === undefined) return [];
    if ([defaultOf(row), ...(row.accepts ?? [])].some((taken) => isSameValue(row, value, taken))) return [];
    return [`${prefix}${name}: ${JSON.stringify(value)} is not supported by Keelson: ${row.note}`];
  });
}

/** One sentence per refused value. */
export function refusals(config: KubeletConfigurationV1Beta1): string[] {
  return refusalsIn(FIELDS, config, '');
}
