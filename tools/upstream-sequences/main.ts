/**
 * Compares field management with upstream's on random sequences of applies and updates of one object: the object at the end, the
 * owners of its fields, and the refused requests. The oracle of tools/upstream-patches with its fields.go computes upstream's
 * results.
 *
 *     node --conditions=keelson-source tools/upstream-sequences/main.ts ORACLE [--seed 1] [--count 1000] [--show 5] [--kind Pod]
 */
import { parseArgs } from 'node:util';
import { canonicalize } from '../../src/api/codec/canonical.ts';
import { stringifyJson } from '../../src/api/codec/json.ts';
import { isObject, type JsonObject, setOwn } from '../../src/api/codec/own-property.ts';
import { decodeTyped } from '../../src/api/codec/typed.ts';
import { asRead } from '../../src/api/codec/written-form.ts';
import type { ManagedFieldsEntry } from '../../src/api/gen/meta-v1.ts';
import { allResources } from '../../src/api/gen/resources.ts';
import { apply } from '../../src/api/managed-fields/apply.ts';
import { trackUpdate } from '../../src/api/managed-fields/field-manager.ts';
import { apiVersionOf } from '../../src/api/resource-info.ts';
import { schemaOf } from '../../src/api/schema/schema.ts';
import type { ListSchema, StructSchema, TypeSchema } from '../../src/api/schema/type-schema.ts';
import { deepEqual } from '../../src/base/equal.ts';
import { Generator, scrambledDraw } from '../upstream-patches/generate.ts';
import { startOracle } from '../upstream-patches/oracle.ts';
import { smaller } from '../upstream-patches/smaller.ts';

interface Step {
  readonly operation: 'apply' | 'update';
  readonly manager: string;
  readonly force: boolean;
  readonly object: JsonObject;
}

interface Ended {
  readonly object: JsonObject;
  readonly outcomes: readonly string[];
}

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '1000' },
    show: { type: 'string', default: '5' },
    kind: { type: 'string', default: '' },
  },
});
const kinds = allResources
  .filter(({ kind, verbs }) => verbs.includes('patch') && kind.includes(flags.kind))
  .flatMap((info) => schemaOf(info.group, info.version, info.kind) ?? [])
  .filter(({ gvk }) => !['apiregistration.k8s.io', 'apiextensions.k8s.io'].includes(gvk![0]));
const oracle = startOracle<{ object?: JsonObject; error?: string; outcomes?: string[] }>(positionals);

/** Removes duplicate keys and items without keys, which both sides refuse. */
function tidied(generator: Generator, type: TypeSchema, value: unknown): unknown {
  if (type.kind === 'struct' && isObject(value)) {
    const out: JsonObject = {};
    for (const [name, item] of Object.entries(value)) {
      const field = type.fields.get(name);
      setOwn(out, name, field === undefined ? item : tidied(generator, field.type, item));
    }
    // Defaulting, which client-go's scheme lacks, sets it before fields are tracked.
    if (type.name === 'core.v1.ServicePort') out['targetPort'] ??= 80;
    return out;
  }
  if (type.kind === 'map' && isObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, tidied(generator, type.values, item)]));
  return type.kind === 'list' && Array.isArray(value) ? tidiedList(generator, type, value) : value;
}

function tidiedList(generator: Generator, type: ListSchema, value: readonly unknown[]): unknown[] {
  const items = value.map((item) => tidied(generator, type.items, item));
  const { items: struct } = type;
  if (type.listType === 'map' && struct.kind === 'struct')
    for (const item of items)
      for (const key of type.keys) {
        const field = struct.fields.get(key);
        if (field !== undefined && !Object.hasOwn(item as JsonObject, key))
          setOwn(item as JsonObject, key, generator.value(field.type));
      }
  if (type.listType === 'atomic') return items;
  const keyOf = (item: unknown): string =>
    stringifyJson(type.listType === 'map' ? type.keys.map((key) => (item as JsonObject)[key]) : item);
  return [...new Map(items.map((item) => [keyOf(item), item])).values()];
}

function stepsOf(generator: Generator, schema: StructSchema): readonly Step[] {
  const [group, version, kind] = schema.gvk!;
  return Array.from({ length: 2 + generator.pick([0, 1, 2, 3]) }, () => {
    const { status: _status, ...random } = generator.struct(schema, 6);
    const object = tidied(generator, schema, { ...random, metadata: {} }) as JsonObject;
    const labels = generator.chance(0.5)
      ? { labels: { [generator.pick(['a', 'b'])]: generator.pick(['x', 'y']) } }
      : {};
    return {
      operation: generator.pick(['apply', 'apply', 'update'] as const),
      manager: generator.pick(['m', 'n']),
      force: generator.chance(0.5),
      object: { ...object, apiVersion: apiVersionOf({ group, version }), kind, metadata: { name: 'x', ...labels } },
    };
  });
}

function ours(schema: StructSchema, steps: readonly Step[]): Ended {
  const [group, version, kind] = schema.gvk!;
  const apiVersion = apiVersionOf({ group, version });
  let live: JsonObject | undefined;
  const outcomes = steps.map(({ operation, manager, force, object }) => {
    const request = { schema, apiVersion, time: '2024-01-01T00:00:00Z', manager };
    try {
      if (operation === 'update') {
        const { managedFields, uid } = (live?.['metadata'] ?? {}) as JsonObject;
        const metadata = {
          ...(object['metadata'] as JsonObject),
          ...(uid !== undefined && { uid }),
          ...(managedFields !== undefined && { managedFields }),
        };
        live = created(trackUpdate(live, canonicalize(schema, { ...object, metadata }), request));
        return '';
      }
      const config = decodeTyped(schema, object, { shape: 'sparse' }).object;
      const result = apply(live, config, { ...request, force });
      if (result.kind === 'conflict') return 'conflict';
      live = created(canonicalize(schema, result.object));
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  });
  return { object: live ?? { apiVersion, kind, metadata: {} }, outcomes };
}

/** The object in the form that it has after its creation. */
function created(object: JsonObject): JsonObject {
  return { ...object, metadata: { ...(object['metadata'] as JsonObject), uid: 'u' } };
}

type Owners = Readonly<Record<string, unknown>>;

function ownersOf({ metadata }: JsonObject): Owners {
  const entries = ((metadata ?? {}) as { managedFields?: ManagedFieldsEntry[] }).managedFields ?? [];
  return Object.fromEntries(entries.map(({ manager, operation, fieldsV1 }) => [`${manager} ${operation}`, fieldsV1]));
}

function withoutOwners(object: JsonObject, schema: StructSchema): JsonObject {
  const [group, version, kind] = schema.gvk!;
  const { managedFields: _managed, ...metadata } = (object['metadata'] ?? {}) as JsonObject;
  return canonicalize(schema, asRead({ ...object, metadata, apiVersion: apiVersionOf({ group, version }), kind }));
}

function isSame(a: Ended, b: Ended, schema: StructSchema): boolean {
  const refused = ({ outcomes }: Ended): readonly boolean[] => outcomes.map((text) => text !== '');
  if (a.outcomes.some((text) => text.startsWith('panic'))) return true;
  return (
    deepEqual(refused(a), refused(b)) &&
    deepEqual(ownersOf(a.object), ownersOf(b.object)) &&
    deepEqual(withoutOwners(a.object, schema), withoutOwners(b.object, schema))
  );
}

async function theirs(schema: StructSchema, steps: readonly Step[]): Promise<Ended> {
  const [group, version, kind] = schema.gvk!;
  const answer = await oracle.ask({ type: 'fields', group, version, kind, steps });
  if (answer.object === undefined) throw new Error(answer.error);
  return { object: answer.object, outcomes: answer.outcomes ?? [] };
}

const KEPT = ['apiVersion', 'kind', 'operation', 'manager', 'force', 'metadata', 'object'];

async function shrunk(schema: StructSchema, steps: readonly Step[]): Promise<readonly Step[]> {
  for (const less of smaller(steps, KEPT)) {
    const next = less as readonly Step[];
    if (!isSame(await theirs(schema, next), ours(schema, next), schema)) return await shrunk(schema, next);
  }
  return steps;
}

let different = 0;
let refused = 0;
for (let index = 0; index < Number(flags.count); index++) {
  const generator = new Generator(scrambledDraw(Number(flags.seed), index));
  const schema = generator.pick(kinds);
  const steps = stepsOf(generator, schema);
  const [a, b] = [await theirs(schema, steps), ours(schema, steps)];
  refused += a.outcomes.filter((text) => text !== '').length;
  if (isSame(a, b, schema) || different++ >= Number(flags.show)) continue;
  const least = await shrunk(schema, steps);
  process.stdout.write(`${index} ${schema.gvk!.join('/')}\n`);
  for (const step of least) process.stdout.write(`  ${stringifyJson(step)}\n`);
  process.stdout.write(
    `  upstream ${stringifyJson(await theirs(schema, least))}\n  ours     ${stringifyJson(ours(schema, least))}\n`,
  );
}
process.stdout.write(`${flags.count} sequences, ${refused} requests refused, ${different} ended differently\n`);
oracle.end();
process.exitCode = different > 0 ? 1 : 0;
