// Creates many different items from one pattern.
import type { JsonObject } from '../../../src/api/codec/own-property.ts';
import { address, times } from './load.ts';

/** How an item differs from the previous one: which of its texts and numbers change. */
export interface Variation {
  readonly text: (value: string, at: number) => string;
  readonly changes: (name: string) => boolean;
}

const texts: readonly Variation['text'][] = [
  (value, at) => `${value}${at}`,
  (value, at) => (/^\d+\.\d+\.\d+\.\d+\/\d+$/.test(value) ? `${address(at)}/32` : address(at)),
  (value, at) => `x${at}.${value}`,
  (value, at) => `${value}/x${at}`,
];

const identifying = new Set([
  'name',
  'key',
  'host',
  'ip',
  'type',
  'mountPath',
  'path',
  'topologyKey',
  'port',
  'containerPort',
]);

/** Ways to make items differ, the smallest change first. */
export function* variationsOf(value: unknown): Generator<Variation> {
  const sample = Array.isArray(value) ? (value as unknown[])[0] : value;
  const names = typeof sample === 'object' && sample !== null && Array.isArray(value) ? Object.keys(sample) : [''];
  for (const text of texts) {
    for (const name of names) yield { text, changes: (one) => one === name };
    yield { text, changes: (one) => identifying.has(one) };
    yield { text, changes: () => true };
  }
  yield { text: (same) => same, changes: () => false };
}

function varied(
  value: unknown,
  variation: Variation,
  { name, at }: { readonly name: string; readonly at: number },
): unknown {
  if (typeof value === 'string') return variation.changes(name) ? variation.text(value, at) : value;
  if (typeof value === 'number') return variation.changes(name) ? value + at : value;
  if (Array.isArray(value)) return value.map((item) => varied(item, variation, { name, at }));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, varied(inner, variation, { name: key, at })]),
  );
}

/** A list or map with this number of items. */
export function itemsOf(value: unknown, variation: Variation, count: number): unknown {
  if (Array.isArray(value)) return times(count, (at) => varied((value as unknown[])[0], variation, { name: '', at }));
  const [[key, inner] = ['a', 'b']] = Object.entries(value as JsonObject);
  return Object.fromEntries(times(count, (at) => [variation.text(key, at), inner]));
}
