/** Random JSON patches of a document, mostly of existing places. */
import type { JsonObject } from '../../src/api/codec/own-property.ts';
import type { Generator } from './generate.ts';

const VALUES: readonly unknown[] = ['a', 'b', 80, 0, true, null, {}, [], { a: null }, ['a']];
const OPERATIONS = ['add', 'remove', 'replace', 'move', 'copy', 'test'] as const;

function escaped(step: string): string {
  return step.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** Every place of a document with its value. */
function placesOf(value: unknown, path = ''): readonly (readonly [string, unknown])[] {
  const inner =
    value !== null && typeof value === 'object'
      ? Object.entries(value as JsonObject).flatMap(([key, item]) => placesOf(item, `${path}/${escaped(key)}`))
      : [];
  return [[path, value], ...inner];
}

/** One to three operations. */
export function operationsOf(generator: Generator, document: unknown): readonly object[] {
  const places = placesOf(document);
  const place = (): readonly [string, unknown] => {
    const [path, value] = generator.pick(places);
    if (generator.chance(0.7)) return [path, value];
    return [path + generator.pick(['/-', '/0', '/1', '/99', '/a', '/-1', '/', '/name', '/01']), undefined];
  };
  const one = (): object => {
    const op = generator.pick(OPERATIONS);
    const [path, present] = place();
    if (op === 'move' || op === 'copy') return { op, from: place()[0], path };
    if (op === 'remove') return { op, path };
    return { op, path, value: op === 'test' && generator.chance(0.7) ? (present ?? null) : generator.pick(VALUES) };
  };
  return Array.from({ length: 1 + Math.floor(generator.pick([0, 0, 1, 2])) }, one);
}
