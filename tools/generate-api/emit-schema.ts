// Writes `schema-data.json`: the schema of every type as packed lines, which src/api/schema/schema.ts expands type by type at
// first use and whose format is described there. It is JSON, because a literal of this size takes ten times as long to load.

import type { FactField, Facts, FactType } from './facts.ts';

/** The text of `src/api/gen/schema-data.json`. */
export function emitSchema(facts: Facts): string {
  const blocks = [...facts.types].flatMap(([name, type]) =>
    type.fields === undefined
      ? []
      : [
          renderType(name, type)
            .map((line) => JSON.stringify(line))
            .join(',\n'),
        ],
  );
  return `[\n[${blocks.join('],\n\n[')}]\n]\n`;
}

function renderType(name: string, type: FactType): string[] {
  const head = [name];
  if (type.gvk !== undefined) head.push(`=${type.gvk.join('/')}`);
  if (type.isAtomic === true) head.push('atomic');
  return [head.join(' '), ...Object.entries(type.fields ?? {}).map(([field, fact]) => renderField(field, fact, name))];
}

function renderField(field: string, fact: FactField, owner: string): string {
  const [listType, mapKeys] = listSemantics(fact);
  const parts = [
    field,
    shorten(fact.type, owner),
    fact.number ?? '-',
    flags(fact),
    listType === undefined ? '' : `l:${listType}`,
    mapKeys === undefined ? '' : `k:${mapKeys.join(',')}`,
    fact.mapType === undefined ? '' : `m:${fact.mapType}`,
    fact.patchStrategy === undefined ? '' : `s:${fact.patchStrategy}`,
    fact.patchMergeKey === undefined ? '' : `y:${fact.patchMergeKey}`,
    fact.default === undefined ? '' : `d:${JSON.stringify(fact.default)}`,
    fact.values === undefined ? '' : `${fact.closed === true ? 'c' : 'v'}:${fact.values.join(',')}`,
  ];
  return parts.filter((p) => p !== '').join(' ');
}

/** A merging list without a list type is associative for server-side apply too, as in upstream's converter. */
function listSemantics(fact: FactField): [string | undefined, readonly string[] | undefined] {
  if (fact.listType !== undefined || !fact.type.startsWith('[]')) return [fact.listType, fact.listMapKeys];
  if (fact.patchStrategy?.includes('merge') !== true) return [undefined, undefined];
  return fact.patchMergeKey === undefined ? ['set', undefined] : ['map', [fact.patchMergeKey]];
}

function shorten(type: string, owner: string): string {
  const prefix = owner.slice(0, owner.lastIndexOf('.') + 1);
  return type.replace(prefix, '.');
}

/** `r` required, `p` pointer, `o` omitempty, `w` each list is wrapped in a message `{items = 1}` on the wire. */
function flags({ required, pointer, omitempty, wrapped }: FactField): string {
  const text = `${required === true ? 'r' : ''}${pointer === true ? 'p' : ''}${omitempty === true ? 'o' : ''}${wrapped === true ? 'w' : ''}`;
  return text === '' ? '-' : text;
}
