/** Parses the filter field: words that rows contain, and selectors that the server applies. */
import type { Row } from '../api/table.ts';

export interface Filter {
  /** Words in lower case; a row must contain all of them. */
  readonly words: readonly string[];
  /** Words in lower case; a row must contain none of them. */
  readonly without: readonly string[];
  readonly labelSelector: string;
  readonly fieldSelector: string;
}

/** `-l` and `-f` are followed by a selector, with or without a space; several are combined. */
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
