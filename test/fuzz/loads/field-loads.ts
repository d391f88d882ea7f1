// Every kind by its schema: numbers at their limits, and each list, alone and together with another, as long as the API server
// accepts.
import type { JsonObject } from '../../../src/api/codec/own-property.ts';
import { schemaOf } from '../../../src/api/schema/schema.ts';
import type { TypeSchema } from '../../../src/api/schema/type-schema.ts';
import { changed } from '../../../src/apiserver/refusals/changes-fixture.ts';
import { readSamples } from '../../../src/apiserver/refusals/samples-fixture.ts';
import { minimalObjects } from '../generators/minimal-objects.ts';
import { resources } from '../generators/objects.ts';
import { itemsOf, variationsOf, type Variation } from './items.ts';
import type { Load } from './load.ts';
import { quota } from './parts.ts';
import { richObjects } from './rich-objects.ts';

type Path = readonly (string | number)[];

interface Place {
  readonly path: Path;
  readonly type: TypeSchema;
  readonly value: unknown;
}

/** Places of an object, including those of the schema that the object lacks. */
function* placesOf(type: TypeSchema, value: unknown, path: Path): Generator<Place> {
  yield { path, type, value };
  if (type.kind === 'list' && Array.isArray(value) && value.length > 0)
    yield* placesOf(type.items, value[0], [...path, 0]);
  if (type.kind !== 'struct' || value === undefined) return;
  for (const { name, type: inner } of type.fields.values()) {
    if (path.length === 0 && ['apiVersion', 'kind', 'metadata', 'status'].includes(name)) continue;
    yield* placesOf(inner, (value as JsonObject)[name], [...path, name]);
  }
}

interface Kind {
  readonly name: string;
  readonly object: JsonObject;
  readonly schema: TypeSchema;
}

/** Unreachable webhooks refuse nothing, so that the following objects are processed. */
function failingOpen(object: JsonObject): JsonObject {
  const { webhooks } = object;
  if (!Array.isArray(webhooks)) return object;
  return { ...object, webhooks: webhooks.map((hook: JsonObject) => ({ ...hook, failurePolicy: 'Ignore' })) };
}

/** The fullest valid object of each kind that can be created. */
function kinds(): Kind[] {
  const found = new Map<string, JsonObject>();
  for (const info of resources) {
    if (!info.verbs.includes('create') || !info.verbs.includes('watch') || info.kind === 'Event') continue;
    const apiVersion = info.group === '' ? info.version : `${info.group}/${info.version}`;
    const { metadata, ...rest } = minimalObjects[info.kind] ?? {};
    const object = { apiVersion, kind: info.kind, metadata: { name: 'a', ...(metadata as JsonObject) }, ...rest };
    found.set(`${apiVersion} ${info.kind}`, object);
  }
  for (const { name, object } of readSamples()) found.set(name, object as unknown as JsonObject);
  for (const object of richObjects) found.set(`${String(object['apiVersion'])} ${String(object['kind'])}`, object);
  return [...found].flatMap(([name, sample]) => {
    const object = failingOpen(sample);
    const [version = '', group = ''] = String(object['apiVersion']).split('/').toReversed();
    const schema = schemaOf(group, version, String(object['kind']));
    return schema === undefined ? [] : [{ name, object, schema }];
  });
}

const bounds = quota({ pods: '300', 'count/jobs.batch': '100' });

const integers: Readonly<Record<string, readonly number[]>> = {
  int32: [2 ** 31 - 1, -1, 0],
  int64: [2 ** 53 - 1, 2 ** 31, -1, 0],
  intOrString: [2 ** 31 - 1, -1, 0],
};

function named(object: JsonObject, at: string | number): JsonObject {
  const metadata = object['metadata'] as JsonObject;
  return { ...object, metadata: { ...metadata, name: `${String(metadata['name'])}-${at}` } };
}

function limitsOf({ name, object, schema }: Kind): Load {
  return {
    name: `numbers of ${name}`,
    mayBeRefused: true,
    *objects() {
      yield bounds;
      let at = 0;
      for (const { path, type } of placesOf(schema, object, []))
        for (const value of type.kind === 'scalar' ? (integers[type.scalar] ?? []) : [])
          yield named(changed(object, { path, value }) as JsonObject, at++);
    },
  };
}

/** Numbers of items in descending order: the first that is accepted is nearly the maximum. */
const COUNTS = [16_000, 6000, 2000, 600, 100, 16];

interface Filled {
  readonly path: Path;
  readonly make: (count: number) => unknown;
  readonly count: number;
}

function* filledLists({ object, schema }: Kind): Generator<JsonObject, Filled[], boolean> {
  const found: Filled[] = [];
  let at = 0;
  for (const { path, type, value } of placesOf(schema, object, [])) {
    const isFull =
      type.kind === 'list' ? Array.isArray(value) && value.length > 0 : type.kind === 'map' && value !== undefined;
    if (!isFull) continue;
    for (const variation of variationsOf(value)) {
      const make = (count: number): unknown => itemsOf(value, variation as Variation, count);
      const attempt = (count: number): JsonObject =>
        named(changed(object, { path, value: make(count) }) as JsonObject, at++);
      if (!(yield attempt(3))) continue;
      for (const count of COUNTS) {
        if (!(yield attempt(count))) continue;
        found.push({ path, make, count });
        break;
      }
      break;
    }
  }
  return found;
}

function listsOf(kind: Kind): Load {
  return {
    name: `lists of ${kind.name}`,
    mayBeRefused: true,
    *objects() {
      yield bounds;
      yield* filledLists(kind);
    },
  };
}

/** Each pair of lists, also one inside the other. */
function pairsOf(kind: Kind): Load {
  return {
    name: `pairs of lists of ${kind.name}`,
    mayBeRefused: true,
    *objects() {
      yield bounds;
      const lists = yield* filledLists(kind);
      let at = 0;
      for (const [index, one] of lists.entries())
        for (const other of lists.slice(index + 1))
          for (const share of [2, 8, 32]) {
            const first = { path: one.path, value: one.make(Math.ceil(one.count / share)) };
            const second = { path: other.path, value: other.make(Math.ceil(other.count / share)) };
            const both = changed(changed(kind.object, first), second) as JsonObject;
            if (yield named(both, `pair-${at++}`)) break;
          }
    },
  };
}

export const fieldLoads: readonly Load[] = kinds().flatMap((kind) => [limitsOf(kind), listsOf(kind), pairsOf(kind)]);
