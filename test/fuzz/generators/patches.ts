// Patches of all four types for an object as it may be stored.
import type { JsonObject } from '../../../src/api/codec/own-property.ts';
import { chance, pick, type Random } from '../draw.ts';
import { hostileStrings, wrongTypes } from '../values/hostile.ts';
import { Members, placesOf, treeOf } from '../values/tree.ts';
import { type Body, mutatedJson } from './bodies.ts';

/** JSON pointers of the object, and some to nothing. */
function pointers(random: Random, object: JsonObject): string[] {
  const found: string[] = [
    '',
    '/',
    '/-',
    '/metadata/labels/a~1b',
    '/metadata/__proto__',
    '/constructor/prototype/a',
    '/spec/containers/-',
    '/spec/containers/01',
    '/a~2',
  ];
  const visit = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      found.push(`${path}/${key}`);
      visit(inner, `${path}/${key}`);
    }
  };
  visit(object, '');
  return Array.from({ length: 4 }, () => pick(random, found));
}

function jsonPatch(random: Random, object: JsonObject): unknown {
  const value = (): unknown => pick(random, [...wrongTypes, ...hostileStrings.slice(0, 12)]);
  return Array.from({ length: 1 + random.int(4) }, () => {
    const [path, from] = pointers(random, object);
    const op = pick(random, ['add', 'remove', 'replace', 'move', 'copy', 'test', 'add', 'replace', 'x']);
    return { op, path, ...(['move', 'copy'].includes(op) ? { from } : { value: value() }) };
  });
}

const directives: readonly JsonObject[] = [
  { $patch: 'delete' },
  { $patch: 'replace' },
  { $patch: 'x' },
  { $retainKeys: ['a'] },
  { $retainKeys: 'a' },
  { '$deleteFromPrimitiveList/finalizers': ['a'] },
  { '$setElementOrder/containers': [{ name: 'c' }, {}] },
  { '$setElementOrder/finalizers': [1, null] },
  { '$setElementOrder/__proto__': [] },
];

function strategicPatch(random: Random, object: JsonObject): unknown {
  const tree = treeOf(object);
  const inner = placesOf(tree)
    .map(({ container }) => container)
    .filter((one) => one instanceof Members);
  if (inner.length > 0 && chance(random, 0.6))
    for (const [key, value] of Object.entries(pick(random, directives)))
      pick(random, inner).entries.push([key, treeOf(value)]);
  return tree;
}

const without = (object: JsonObject, ...fields: string[]): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !fields.includes(name)));

export function patchBody(random: Random, object: JsonObject): Body {
  const type = pick(random, ['json-patch+json', 'merge-patch+json', 'strategic-merge-patch+json', 'apply-patch+yaml']);
  const contentType = `application/${type}`;
  const small = chance(random, 0.5) ? without(object, 'metadata') : object;
  switch (type) {
    case 'json-patch+json':
      return { contentType, text: mutatedJson(random, jsonPatch(random, object)) };
    case 'strategic-merge-patch+json':
      return { contentType, text: mutatedJson(random, strategicPatch(random, small)) };
    default:
      return { contentType, text: mutatedJson(random, type === 'apply-patch+yaml' ? object : small) };
  }
}
