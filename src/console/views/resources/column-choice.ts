/** The columns of a kind that the user has chosen, stored by the browser. */
import { computed, type ReadonlySignal, signal } from '@preact/signals';
import { readSetting, writeSetting } from '../../app/settings.ts';
import type { ShownColumn } from './columns.ts';

/** Ids of columns whose visibility differs from the default, by kind. */
const changed = signal<Readonly<Record<string, readonly string[]>>>(readAll());

function readAll(): Record<string, readonly string[]> {
  try {
    return JSON.parse(readSetting('columns') ?? '{}') as Record<string, readonly string[]>;
  } catch {
    return {}; // another program wrote the entry
  }
}

export function hiddenColumns(kind: string, columns: readonly ShownColumn[]): ReadonlySignal<ReadonlySet<string>> {
  return computed(() => {
    const own = new Set(changed.value[kind] ?? []);
    return new Set(
      columns.filter(({ id, byDefault, role }) => role !== 'name' && byDefault === own.has(id)).map(({ id }) => id),
    );
  });
}

/** Shows a hidden column, or hides a visible one. */
export function toggleColumn(kind: string, id: string): void {
  const own = new Set(changed.value[kind] ?? []);
  if (!own.delete(id)) own.add(id);
  changed.value = { ...changed.value, [kind]: [...own] };
  writeSetting('columns', JSON.stringify(changed.value));
}
