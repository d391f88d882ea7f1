// Writes `schema-data.json`: the schema of every type as packed lines, which src/api/schema/schema.ts expands type by
// type on first use. The format is described there. JSON, because a literal of this size costs ten times as much to load.

import { publishedDefaults } from './extra-defaults.ts';
import type { FactField, Facts, FactType } from './facts.ts';

/** Renders `src/api/gen/schema-data.json`. */
export function emitSchema(facts: Facts): string {
  const types = [...facts.types].filter(
    ([, t]) => t.fields !== undefined || (t.scalar === 'object' && t.pbOnly === undefined),
  );
  const blocks = types.map(([name, type]) =>
    renderType(name, type, facts)
      .map((line) => JSON.stringify(line))
      .join(',\n'),
  );
  return `[\n[${blocks.join('],\n\n[')}]\n]\n`;
}

function renderType(name: string, type: FactType, facts: Facts): string[] {
  const head = [name];
  if (type.gvk !== undefined) head.push(`=${type.gvk.join('/')}`);
  if (type.mapType === 'atomic') head.push('atomic');
  const fields = Object.entries(type.fields ?? {}).map(([field, fact]) => renderField(field, fact, { name, facts }));
  return [head.join(' '), ...fields];
}

interface Scope {
  name: string;
  facts: Facts;
}

function renderField(field: string, fact: FactField, scope: Scope): string {
  const key = `${scope.name}.${field}`;
  const rawDefault = fact.default ?? publishedDefaults[key];
  const [listType, mapKeys] = listSemantics(fact);
  const parts = [
    field,
    shorten(fact.type, scope.name),
    pbPath(field, fact, scope),
    flags(fact),
    listType === undefined ? '' : `l:${listType}`,
    mapKeys === undefined ? '' : `k:${mapKeys.join(',')}`,
    fact.mapType === undefined ? '' : `m:${fact.mapType}`,
    fact.patchStrategy === undefined ? '' : `s:${fact.patchStrategy}`,
    fact.patchMergeKey === undefined ? '' : `y:${fact.patchMergeKey}`,
    rawDefault === undefined ? '' : `d:${JSON.stringify(rawDefault)}`,
    fact.values === undefined ? '' : `${fact.closed === true ? 'c' : 'v'}:${fact.values.join(',')}`,
  ];
  return parts.filter((p) => p !== '').join(' ');
}

/** A list without a list type that merges is associative for server-side apply too, as upstream's converter decides. */
function listSemantics(fact: FactField): [string | undefined, string[] | undefined] {
  if (fact.listType !== undefined || !fact.type.startsWith('[]')) return [fact.listType, fact.listMapKeys];
  if (fact.patchStrategy?.includes('merge') !== true) return [undefined, undefined];
  return fact.patchMergeKey === undefined ? ['set', undefined] : ['map', [fact.patchMergeKey]];
}

function shorten(type: string, owner: string): string {
  const prefix = owner.slice(0, owner.lastIndexOf('.') + 1);
  return type.replace(prefix, '.');
}

/** `r` required, `p` pointer, `o` omitempty, `w` each list is wrapped in a message `{items = 1}` on the wire. */
function flags(fact: FactField): string {
  const wrapped = fact.pbType !== undefined && /ExtraValue|Verbs/.test(fact.pbType);
  const text = `${fact.required === true ? 'r' : ''}${fact.pointer === true ? 'p' : ''}${fact.omitempty === true ? 'o' : ''}${wrapped ? 'w' : ''}`;
  return text === '' ? '-' : text;
}

/** The protobuf number, or the path of numbers through embedded messages (`2.1`), or `-` for JSON-only fields. */
function pbPath(field: string, fact: FactField, { name, facts }: Scope): string {
  if (fact.pb !== undefined) return String(fact.pb);
  if (fact.via === undefined) return '-';
  const path: number[] = [];
  let message = name;
  for (const segment of fact.via.split('.')) {
    const inline = inlineMessage(message, segment, facts);
    path.push(inline[0]);
    message = inline[1];
  }
  return [...path, numberWithin(message, field, facts)].join('.');
}

/** Number and type of a message embedded in another. */
function inlineMessage(message: string, segment: string, facts: Facts): [number, string] {
  const found = facts.types.get(message)?.pbInline?.[segment] ?? facts.protoOnly[message]?.[segment];
  if (found === undefined) throw new Error(`${message}: no inline message ${segment}`);
  return found;
}

/** The field's number within the message that declares it. */
function numberWithin(message: string, field: string, facts: Facts): number {
  const number = facts.protoOnly[message]?.[field]?.[0] ?? facts.types.get(message)?.fields?.[field]?.pb;
  if (number === undefined) throw new Error(`no field ${field} in message ${message}`);
  return number;
}
