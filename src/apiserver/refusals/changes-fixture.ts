/** Changes to a sound object, one place at a time, as the schema of its kind suggests them. */
import type {
  AnySchema,
  FieldSchema,
  ListSchema,
  MapSchema,
  ScalarName,
  TypeSchema,
} from '../../api/schema/type-schema.ts';

/** A path and its new value; without a value, the path is removed. */
export interface Change {
  readonly path: readonly (string | number)[];
  readonly value?: unknown;
}

type Path = readonly (string | number)[];

const scalars: Record<ScalarName, readonly unknown[]> = {
  string: ['', 'Bad_Value!', 'a'.repeat(300)],
  boolean: [true, false],
  int32: [0, -1, 1, 1_000_000],
  int64: [0, -1, 1, 1_000_000],
  double: [0, -1, 1.5],
  bytes: ['', 'YQ=='],
  quantity: ['0', '-1', '1500m'],
  time: ['2020-01-01T00:00:00Z'],
  microTime: ['2020-01-01T00:00:00.000000Z'],
  intOrString: [0, -1, 70_000, '-5%', '150%', 'Bad_Value!', ''],
};

const anything: Record<AnySchema['form'], readonly unknown[]> = {
  object: [{}],
  fieldsV1: [{}],
  json: [1, 'a', {}],
  schemaOrArray: [{}],
  schemaOrBool: [true, false],
  schemaOrStringArray: [['a']],
};

/** Tested as parts of pods and other kinds. */
const leftOut = new Set(['core.v1.PodSpec', 'meta.v1.ObjectMeta', 'core.v1.PersistentVolumeClaimSpec']);

/** The first of a field's enumerated values. */
function namedOf({ values: [first], type }: FieldSchema): unknown {
  return first !== undefined && type.kind === 'list' ? [first] : first;
}

/** A value with every field set, `depth` levels deep; lists have one item. */
function filled(type: TypeSchema, depth: number): unknown {
  switch (type.kind) {
    case 'scalar':
      return (
        { string: 'a', boolean: true, bytes: 'YQ==', quantity: '1', intOrString: 1 }[type.scalar as string] ??
        scalars[type.scalar].at(-1)
      );
    case 'any':
      return anything[type.form][0];
    case 'list':
      return [filled(type.items, depth)];
    case 'map':
      return { a: filled(type.values, depth) };
    case 'struct':
      if (depth === 0 || leftOut.has(type.name)) return {};
      return Object.fromEntries(
        [...type.fields.values()].map((field) => [field.name, namedOf(field) ?? filled(field.type, depth - 1)]),
      );
  }
}

function* ofList(type: ListSchema, value: readonly unknown[] | undefined, path: Path): Generator<Change> {
  if (value === undefined || value.length === 0) {
    yield { path, value: [type.items.kind === 'struct' ? {} : filled(type.items, 1)] };
    if (type.items.kind === 'struct') yield { path, value: [filled(type.items, 2)] };
    return;
  }
  yield { path };
  yield { path, value: [] };
  yield { path, value: [...value, value[0]] };
  if (type.items.kind !== 'struct') yield { path, value: [...value, 'z'] };
  for (const index of new Set([0, value.length - 1])) yield* ofType(type.items, value[index], [...path, index]);
}

function* ofMap(type: MapSchema, value: Readonly<Record<string, unknown>> | undefined, path: Path): Generator<Change> {
  const [key = 'a'] = Object.keys(value ?? {});
  const item = value?.[key] ?? filled(type.values, 1);
  if (value !== undefined) yield { path };
  yield { path, value: {} };
  yield { path, value: { ...value, 'bad key!': item } };
  if (value !== undefined) yield* ofType(type.values, item, [...path, key]);
}

function* ofField(field: FieldSchema, value: unknown, path: Path): Generator<Change> {
  const isList = field.type.kind === 'list';
  for (const named of field.values) if (named !== value) yield { path, value: isList ? [named] : named };
  yield* ofType(field.type, value, path);
}

/** Replacements for `value` at `path`, and for the values within it. */
export function* ofType(type: TypeSchema, value: unknown, path: Path): Generator<Change> {
  switch (type.kind) {
    case 'list':
      return yield* ofList(type, value as readonly unknown[] | undefined, path);
    case 'map':
      return yield* ofMap(type, value as Readonly<Record<string, unknown>> | undefined, path);
    case 'scalar':
    case 'any': {
      const others = type.kind === 'scalar' ? scalars[type.scalar] : anything[type.form];
      if (value !== undefined) yield { path };
      for (const other of others) if (other !== value) yield { path, value: other };
      return;
    }
    case 'struct':
      if (value !== undefined && path.length > 0) yield { path };
      if (path.length > 0) yield { path, value: {} };
      if (leftOut.has(type.name)) return;
      if (value === undefined) return yield { path, value: filled(type, 3) };
      for (const field of type.fields.values())
        yield* ofField(field, (value as Record<string, unknown>)[field.name], [...path, field.name]);
  }
}

/** A copy of the object with the change. */
export function changed(object: unknown, { path, value }: Change): unknown {
  const [first, ...rest] = path;
  if (first === undefined) return value;
  const copy = (Array.isArray(object) ? [...(object as unknown[])] : { ...(object as object) }) as Record<
    string | number,
    unknown
  >;
  const part = changed(copy[first], { path: rest, value });
  if (part !== undefined) copy[first] = part;
  else if (Array.isArray(copy)) copy.splice(Number(first), 1);
  else delete copy[first];
  return copy;
}
