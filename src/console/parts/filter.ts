/** What stands in the filter field: words of rows, and selectors that the server applies. */
import type { Row } from '../api/table.ts';

export interface Filter {
  /** Lower case; a row has all of these. */
  readonly words: readonly string[];
  /** Lower case; a row has none of these. */
  readonly without: readonly string[];
  readonly labelSelector: string;
  readonly fieldSelector: string;
}

/** `-l` and `-f` take the word behind them, or what stands at them without a space; several add up. */
export function parseFilter(text: string): Filter {
  const parts = text.split(/\s+/).filter((part) => part !== '');
  const words: string[] = [];
  const without: string[] = [];
  const selectors = { l: [] as string[], f: [] as string[] };
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index]!;
    const option = /^-([lf])(.*)$/.exec(part);
    if (option !== null) {
      const value = option[2] || (parts[++index] ?? '');
      if (value !== '') selectors[option[1] as 'l' | 'f'].push(value);
    } else if (part.startsWith('!')) {
      if (part.length > 1) without.push(part.slice(1).toLowerCase());
    } else words.push(part.toLowerCase());
  }
  return { words, without, labelSelector: selectors.l.join(','), fieldSelector: selectors.f.join(',') };
}

/** Whether a row has the words, in its namespace or in any cell. */
export function matches({ words, without }: Filter, row: Row): boolean {
  if (words.length === 0 && without.length === 0) return true;
  const text = `${row.namespace}\n${row.name}\n${row.cells.join('\n')}`.toLowerCase();
  return words.every((word) => text.includes(word)) && !without.some((word) => text.includes(word));
}
