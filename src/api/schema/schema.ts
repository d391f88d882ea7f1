// The schemas of the built-in types, expanded from the packed tables type by type at first use, so that importing this file is
// cheap. Schemas are shared and immutable; a struct's schema is always the same object.
// Packed format: one block of lines per type. A block's first line is the type's name, then `=group/version/kind` for root types
// and `atomic`. Each further line is a field: name, type (`.X` is a type of the same package), protobuf number or path (`-` for
// none), flags (r required, p pointer, o omitempty, w wrapped), then l: list type, k: list map keys, m: map type, s: patch
// strategies, y: patch merge key, d: default (JSON), and last v: or c: named values.

import schemaData from '../gen/schema-data.json' with { type: 'json' };
import type { AnySchema, FieldSchema, ListSchema, ScalarName, StructSchema, TypeSchema } from './type-schema.ts';

const scalar = (name: ScalarName): TypeSchema => ({ kind: 'scalar', scalar: name });
const any = (form: AnySchema['form']): TypeSchema => ({ kind: 'any', form });

const leaves = new Map<string, TypeSchema>([
  ...(['string', 'boolean', 'int32', 'int64', 'double', 'bytes'] as const).map((n) => [n, scalar(n)] as const),
  ['resource.Quantity', scalar('quantity')],
  ['meta.v1.Time', scalar('time')],
  ['meta.v1.MicroTime', scalar('microTime')],
  ['intstr.IntOrString', scalar('intOrString')],
  ['any', any('json')],
  ['runtime.RawExtension', any('object')],
  ['meta.v1.FieldsV1', any('fieldsV1')],
  ['apiextensions.v1.JSON', any('json')],
  ['apiextensions.v1.JSONSchemaPropsOrArray', any('schemaOrArray')],
  ['apiextensions.v1.JSONSchemaPropsOrBool', any('schemaOrBool')],
  ['apiextensions.v1.JSONSchemaPropsOrStringArray', any('schemaOrStringArray')],
]);

/** Kinds that every group version serves besides its own; clients send them with any apiVersion. */
const COMMON_KINDS = new Set([
  'CreateOptions',
  'DeleteOptions',
  'GetOptions',
  'ListOptions',
  'PatchOptions',
  'UpdateOptions',
  'WatchEvent',
]);

interface Tables {
  /** Type name to packed block. */
  readonly blocks: Map<string, readonly string[]>;
  /** `group/version/kind` to type name. */
  readonly roots: Map<string, string>;
}

let tables: Tables | undefined;

function load(): Tables {
  const blocks = new Map<string, readonly string[]>();
  const roots = new Map<string, string>();
  for (const block of schemaData) {
    const [name = '', ...marks] = (block[0] ?? '').split(' ');
    blocks.set(name, block);
    for (const mark of marks) if (mark.startsWith('=')) roots.set(mark.slice(1), name);
  }
  tables = { blocks, roots };
  return tables;
}

class BuiltinStruct implements StructSchema {
  readonly kind = 'struct';
  readonly preserveUnknown = false;
  readonly embedded = false;
  readonly name: string;
  readonly gvk?: readonly [string, string, string];
  readonly atomic: boolean;
  private readonly lines: readonly string[];
  private expanded: Map<string, FieldSchema> | undefined;

  constructor(block: readonly string[], atomic?: boolean) {
    const [head = '', ...lines] = block;
    const [name = '', ...marks] = head.split(' ');
    this.lines = lines;
    this.name = name;
    const gvk = marks
      .find((m) => m.startsWith('='))
      ?.slice(1)
      .split('/');
    if (gvk !== undefined) this.gvk = gvk as [string, string, string];
    this.atomic = atomic ?? marks.includes('atomic');
  }

  /** A getter without a closure: it is called for every value, and a closure would be allocated at each call. */
  get fields(): ReadonlyMap<string, FieldSchema> {
    this.expanded ??= fieldsOf(this.lines, this.name);
    return this.expanded;
  }
}

function fieldsOf(lines: readonly string[], owner: string): Map<string, FieldSchema> {
  return new Map(lines.map((line) => fieldOf(line, owner)).map((field) => [field.name, field]));
}

function fieldOf(line: string, owner: string): FieldSchema {
  const valuesAt = line.search(/ [vc]:/);
  const [name = '', type = '', pb = '-', flags = '', ...marks] = (valuesAt < 0 ? line : line.slice(0, valuesAt)).split(
    ' ',
  );
  const mark = (letter: string): string | undefined => marks.find((m) => m.startsWith(`${letter}:`))?.slice(2);
  const rawDefault = mark('d');
  return {
    name,
    type: annotate(resolve(type, owner), { listType: mark('l'), keys: mark('k')?.split(','), mapType: mark('m') }),
    required: flags.includes('r'),
    pointer: flags.includes('p'),
    // Nested objects have apiVersion and kind only when the client wrote them.
    omitempty: flags.includes('o') || (pb === '-' && (name === 'apiVersion' || name === 'kind')),
    nullable: false,
    pb: pb === '-' ? [] : pb.split('.').map(Number),
    pbWrapped: flags.includes('w'),
    patchStrategies: mark('s')?.split(',') ?? [],
    patchMergeKey: mark('y'),
    default: rawDefault === undefined ? undefined : JSON.parse(rawDefault),
    values: valuesAt < 0 ? [] : line.slice(valuesAt + 3).split(','),
    closed: valuesAt >= 0 && line[valuesAt + 1] === 'c',
  };
}

function resolve(type: string, owner: string): TypeSchema {
  if (type.startsWith('[]'))
    return { kind: 'list', items: resolve(type.slice(2), owner), listType: 'atomic', keys: [] };
  if (type.startsWith('map<string,')) return { kind: 'map', values: resolve(type.slice(11, -1), owner), atomic: false };
  const name = type.startsWith('.') ? owner.slice(0, owner.lastIndexOf('.')) + type : type;
  return typeSchema(name);
}

interface Marks {
  listType: string | undefined;
  keys: string[] | undefined;
  mapType: string | undefined;
}

/** List and map types belong to the field that holds the value, not to the value's type. */
function annotate(type: TypeSchema, { listType, keys, mapType }: Marks): TypeSchema {
  if (type.kind === 'list' && listType !== undefined) {
    return { ...type, listType: listType as ListSchema['listType'], keys: keys ?? [] };
  }
  if (type.kind === 'map' && mapType !== undefined) return { ...type, atomic: mapType === 'atomic' };
  if (type.kind === 'struct' && mapType !== undefined) return structWith(type.name, mapType === 'atomic');
  return type;
}

const structs = new Map<string, StructSchema>();

function structWith(name: string, atomic?: boolean): StructSchema {
  const key = atomic === undefined ? name : `${name} ${atomic}`;
  const cached = structs.get(key);
  if (cached !== undefined) return cached;
  const block = (tables ?? load()).blocks.get(name);
  if (block === undefined) throw new Error(`no schema for type ${name}`);
  const struct = new BuiltinStruct(block, atomic);
  structs.set(key, struct);
  return struct;
}

/** The schema of a named type: `core.v1.PodSpec`, `resource.Quantity`. Throws for an unknown name. */
export function typeSchema(name: string): TypeSchema {
  return leaves.get(name) ?? structWith(name);
}

/** The schema of a built-in kind, or undefined. Kinds of options are found in every group and version. */
export function schemaOf(group: string, version: string, kind: string): StructSchema | undefined {
  const name = (tables ?? load()).roots.get(`${group}/${version}/${kind}`);
  if (name !== undefined) return structWith(name);
  return COMMON_KINDS.has(kind) ? structWith(`meta.v1.${kind}`) : undefined;
}

/** All struct type names, sorted as generated. */
export function typeNames(): readonly string[] {
  return [...(tables ?? load()).blocks.keys()];
}
