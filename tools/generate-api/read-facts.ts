// Reads tools/facts/kubernetes; tools/facts/README.md describes the format.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSections, unreadable, type FactLine } from '../facts/sections.ts';
import type { FactField, FactResource, Facts, FactType } from './facts.ts';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Reads every file of the folder, in the order of their names. @throws Error naming file and line of an invalid entry */
export function loadFacts(folder: string): Facts {
  const types = new Map<string, FactType>();
  const resources: FactResource[] = [];
  for (const file of readdirSync(folder).sort())
    for (const { heading, entries } of readSections(readFileSync(join(folder, file), 'utf8'), file)) {
      const [section, name = ''] = heading.words;
      if (section === 'resources') resources.push(...entries.map((entry) => readResource(entry, name)));
      else if (types.has(name)) throw unreadable(heading, 'the type has been described already');
      else if (section === 'type') types.set(name, readType(heading, entries));
      else if (section === 'scalar' && entries.length === 0) types.set(name, {});
      else throw unreadable(heading, 'expected resources, type, or scalar without fields');
    }
  return { types, resources };
}

function readResource(line: FactLine, groupVersion: string): FactResource {
  const [, path, scope, kind, verbs] = /^(\S+) (namespaced|cluster) (\S+): (.+)$/.exec(line.text) ?? [];
  if (path === undefined || kind === undefined || verbs === undefined) throw unreadable(line, 'expected a resource');
  const [resource = '', subresource] = path.split('/');
  const [group, version] = splitGroupVersion(groupVersion);
  const other = /^(.+)\/([^/]+)$/.exec(kind);
  return {
    ...{ group, version, resource, ...(subresource !== undefined && { subresource }) },
    namespaced: scope === 'namespaced',
    verbs: verbs.split(' '),
    kind: other === null ? [group, version, kind] : [...splitGroupVersion(other[1] ?? ''), other[2] ?? ''],
  };
}

/** Splits `apps/v1`, or `v1` of the core group. */
function splitGroupVersion(text: string): [string, string] {
  const slash = text.lastIndexOf('/');
  return slash < 0 ? ['', text] : [text.slice(0, slash), text.slice(slash + 1)];
}

function readType(heading: FactLine, entries: readonly FactLine[]): FactType {
  const match = /^type (\S+?)(?: = (\S+) (\S+))?( atomic)?$/.exec(heading.text);
  if (match === null) throw unreadable(heading, 'expected a type');
  const [, name = '', groupVersion, kind, atomic] = match;
  const prefix = name.slice(0, name.lastIndexOf('.') + 1);
  const fields: Record<string, FactField> = {};
  for (const entry of entries) {
    const [field = ''] = entry.words;
    if (field in fields) throw unreadable(entry, 'the field has been described already');
    fields[field] = readField(entry, prefix);
  }
  return {
    fields,
    ...(groupVersion !== undefined && { gvk: [...splitGroupVersion(groupVersion), kind ?? ''] as const }),
    ...(atomic !== undefined && { isAtomic: true }),
  };
}

const FLAGS = ['required', 'pointer', 'omitempty', 'wrapped'] as const;

function readField(line: FactLine, prefix: string): FactField {
  const [, shape = '', which, values] = /^(.*?)(?: (in|such-as) (.*))?$/.exec(line.text) ?? [];
  const [, type, number, ...marks] = shape.split(' ');
  if (type === undefined || number === undefined || !/^(-|\d+(\.\d+)*)$/.test(number))
    throw unreadable(line, 'expected name, type and number of a field');
  const field: Mutable<FactField> = { type: type.replace(/(^|\]|,)\./, `$1${prefix}`) };
  if (number !== '-') field.number = number;
  for (const mark of marks) readMark(field, mark, line);
  if (values !== undefined) Object.assign(field, { values: values.split('|'), closed: which === 'in' });
  return field;
}

function readMark(field: Mutable<FactField>, mark: string, line: FactLine): void {
  const flag = FLAGS.find((name) => name === mark);
  if (flag !== undefined) return void (field[flag] = true);
  const [, name, value = '', argument] = /^(list|map|patch|default)=(.+?)(?:\((.*)\))?$/.exec(mark) ?? [];
  if (name === 'default') field.default = JSON.parse(mark.slice('default='.length));
  else if (name === 'map') field.mapType = value;
  else if (name === 'list') {
    field.listType = value;
    if (argument !== undefined) field.listMapKeys = argument.split(',');
  } else if (name === 'patch') {
    field.patchStrategy = value;
    if (argument !== undefined) field.patchMergeKey = argument;
  } else throw unreadable(line, `unknown mark ${mark}`);
}
