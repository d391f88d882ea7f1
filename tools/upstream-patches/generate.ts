/**
 * Random objects of a kind, and random patches of them: few values and few keys, so that elements, deletions and orders refer to
 * existing ones.
 */
import { stringifyJson } from '../../src/api/codec/json.ts';
import { type JsonObject, setOwn } from '../../src/api/codec/own-property.ts';
import { type Draw, sampleOf, seededDraw } from '../../src/api/schema/sample-fixture.ts';
import type {
  FieldSchema,
  ListSchema,
  ScalarName,
  StructSchema,
  TypeSchema,
} from '../../src/api/schema/type-schema.ts';

const SCALARS: Readonly<Record<ScalarName, readonly unknown[]>> = {
  string: ['a', 'b', 'c', 'a', 'b', ''],
  boolean: [true, false],
  int32: [80, 81, 82, 0],
  int64: [80, 81, 0, 9_007_199_254_740_993n],
  double: [0, 1.5],
  bytes: ['AA==', 'AAEC', 'AAEC\n'],
  quantity: ['1', '500m', '1Gi', '1000m', '1024Mi', 1],
  time: ['2024-02-29T23:59:59Z', '1970-01-01T00:00:00Z', '2024-03-01T00:59:59+01:00'],
  microTime: ['2024-02-29T23:59:59.000001Z', '2024-03-01T00:59:59.000001+01:00'],
  intOrString: [80, 'http', 81],
};
const MAP_KEYS = ['a', 'b', 'c/d'];
const MAX_DEPTH = 7;

/** Sequences of adjacent indices are unrelated. */
export function scrambledDraw(seed: number, index: number): Draw {
  const draw = seededDraw(Math.imul(seed * 7919 + index + 1, 0x9e3779b1) ^ 0x5bd1e995);
  for (let skipped = 0; skipped < 3; skipped++) draw();
  return draw;
}

/** Draws values and patches. */
export class Generator {
  readonly #draw: Draw;

  constructor(draw: Draw) {
    this.#draw = draw;
  }

  chance(probability: number): boolean {
    return this.#draw() < probability;
  }

  pick<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.#draw() * choices.length)]!;
  }

  #some<T>(choices: readonly T[]): readonly T[] {
    return choices.filter(() => this.chance(0.5));
  }

  #shuffled<T>(list: readonly T[]): readonly T[] {
    return list
      .map((item) => [this.#draw(), item] as const)
      .sort(([a], [b]) => a - b)
      .map(([, item]) => item);
  }

  #count(depth: number): number {
    return depth <= 0 ? 0 : Math.floor(this.#draw() * 4);
  }

  value(type: TypeSchema, depth = MAX_DEPTH, mergeKey?: string): unknown {
    switch (type.kind) {
      case 'scalar':
        return this.pick(SCALARS[type.scalar]);
      case 'any':
        return sampleOf(type, this.#draw);
      case 'list':
        // Lists of texts have no duplicates, with which Go's result depends on the capacity of a slice.
        return [...new Set(Array.from({ length: this.#count(depth) }, () => this.#item(type, depth - 1, mergeKey)))];
      case 'map':
        return Object.fromEntries(this.#some(MAP_KEYS).map((key) => [key, this.value(type.values, depth - 1)]));
      case 'struct':
        return this.struct(type, depth);
    }
  }

  struct(type: StructSchema, depth = MAX_DEPTH): JsonObject {
    const out: JsonObject = {};
    const share = Math.min(0.5, 6 / type.fields.size);
    for (const field of type.fields.values())
      if (depth > 0 && this.chance(share)) setOwn(out, field.name, this.#fieldValue(field, depth - 1));
    return out;
  }

  #fieldValue(field: FieldSchema, depth: number): unknown {
    return this.value(field.type, depth, field.patchMergeKey);
  }

  /** An item, with its key when the list merges by one. */
  #item(type: ListSchema, depth: number, mergeKey: string | undefined): unknown {
    const item = this.value(type.items, depth);
    if (mergeKey !== undefined && type.items.kind === 'struct') {
      const key = type.items.fields.get(mergeKey);
      if (key !== undefined) setOwn(item as JsonObject, mergeKey, this.value(key.type));
    }
    return item;
  }

  /** A merge patch of either kind for a value of a struct. */
  patch(type: StructSchema, original: JsonObject, isStrategic: boolean, depth = MAX_DEPTH): JsonObject {
    const out: JsonObject = {};
    const share = Math.min(0.5, 3 / type.fields.size);
    for (const field of type.fields.values()) {
      const before = Object.hasOwn(original, field.name) ? original[field.name] : undefined;
      if (this.chance(before === undefined ? share / 2 : 0.6))
        this.#patchField(out, field, { before, isStrategic, depth: depth - 1 });
    }
    if (isStrategic) this.#mark(out, [...type.fields.keys()]);
    if (this.chance(0.01)) setOwn(out, 'notAField', this.pick<unknown>([1, {}, { a: 1 }, [1], null]));
    return out;
  }

  /** Adds directives to an object. */
  #mark(out: JsonObject, names: readonly string[]): void {
    if (this.chance(0.04)) out['$patch'] = this.pick(['replace', 'delete', 'merge', 'replace', 'delete']);
    if (!this.chance(0.06)) return;
    const set = Object.keys(out).filter((key) => !key.startsWith('$') && out[key] !== null);
    out['$retainKeys'] = this.#shuffled([...(this.chance(0.9) ? set : []), ...this.#some(names).slice(0, 4)]);
  }

  #patchField(
    out: JsonObject,
    field: FieldSchema,
    { before, isStrategic, depth }: { before: unknown; isStrategic: boolean; depth: number },
  ): void {
    const { name, type } = field;
    if (this.chance(0.12)) setOwn(out, name, null);
    else if (this.chance(0.01))
      setOwn(out, name, this.pick<unknown>([1, 'x', {}, [], [null], [[1]], { $patch: 'delete' }]));
    else if (type.kind === 'struct')
      setOwn(out, name, this.patch(type, (before ?? {}) as JsonObject, isStrategic, depth));
    else if (type.kind === 'map')
      setOwn(out, name, this.#patchMap(type.values, (before ?? {}) as JsonObject, isStrategic, depth));
    else if (type.kind === 'list' && isStrategic)
      this.#patchList(out, field, { list: (before ?? []) as unknown[], type, depth });
    else setOwn(out, name, this.#withNulls(this.#fieldValue(field, depth)));
  }

  /** Sometimes puts a null into a value that replaces a list. */
  #withNulls(value: unknown): unknown {
    if (Array.isArray(value) && this.chance(0.1))
      return [...(value as unknown[]), this.pick<unknown>([null, { a: null }, [null]])];
    return value;
  }

  #patchMap(values: TypeSchema, before: JsonObject, isStrategic: boolean, depth: number): JsonObject {
    const out: JsonObject = {};
    for (const key of this.#some(MAP_KEYS)) {
      const own = before[key];
      if (this.chance(0.3)) setOwn(out, key, null);
      else if (values.kind === 'struct')
        setOwn(out, key, this.patch(values, (own ?? {}) as JsonObject, isStrategic, depth));
      else setOwn(out, key, this.value(values, depth));
    }
    if (isStrategic && this.chance(0.08)) out['$patch'] = this.pick(['replace', 'delete', 'merge']);
    return out;
  }

  #patchList(
    out: JsonObject,
    field: FieldSchema,
    { list, type, depth }: { list: readonly unknown[]; type: ListSchema; depth: number },
  ): void {
    const { name, patchMergeKey: mergeKey } = field;
    const { items } = type;
    if (this.chance(0.85)) {
      const changes =
        mergeKey !== undefined && items.kind === 'struct'
          ? Array.from({ length: this.#count(3) }, () => this.#patchItem(items, mergeKey, list, depth))
          : (this.#withNulls(this.#fieldValue(field, depth)) as unknown[]);
      if (mergeKey !== undefined && this.chance(0.04)) changes.push({ $patch: 'replace' });
      setOwn(out, name, changes);
    }
    // With both, the result depends on Go's random order of a map's keys.
    if (items.kind === 'scalar' && !Object.hasOwn(out, name) && this.chance(0.6))
      out[`$deleteFromPrimitiveList/${name}`] = this.chance(0.05) ? null : this.value(type, depth);
    if (this.chance(0.3))
      out[`$setElementOrder/${name}`] = this.#orderOf(list, (out[name] ?? []) as unknown[], mergeKey);
  }

  #patchItem(items: StructSchema, mergeKey: string, list: readonly unknown[], depth: number): JsonObject {
    const key = items.fields.get(mergeKey);
    const own = list.length > 0 && this.chance(0.7) ? (this.pick(list) as JsonObject) : {};
    const keyValue = own[mergeKey] ?? (key === undefined ? 'a' : this.value(key.type));
    const item = this.chance(0.25) ? {} : this.patch(items, own, true, depth);
    delete item['$patch'];
    if (this.chance(0.2)) item['$patch'] = this.pick(['delete', 'delete', 'delete', 'replace', 'merge']);
    if (this.chance(0.98)) setOwn(item, mergeKey, keyValue);
    return item;
  }

  /** Usually the order that clients send: all remaining items by key. */
  #orderOf(list: readonly unknown[], changes: readonly unknown[], mergeKey: string | undefined): unknown {
    if (this.chance(0.01)) return this.pick<unknown>([null, 'x', {}]);
    const nameOf = (item: unknown): unknown =>
      mergeKey === undefined || item === null || typeof item !== 'object'
        ? item
        : { [mergeKey]: (item as JsonObject)[mergeKey] };
    const seen = new Set<string>();
    const all = [...changes, ...list].map(nameOf).filter((item) => {
      const text = stringifyJson(item);
      return !seen.has(text) && seen.add(text);
    });
    const kept = this.chance(0.8) ? all : this.#some(all);
    return this.chance(0.3) ? this.#shuffled(kept) : kept;
  }
}
