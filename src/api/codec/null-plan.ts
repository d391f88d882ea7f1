/**
 * The fields that Go's JSON prints as null: fields without `omitempty` whose list, map, pointer, time or raw value is nil. The
 * plan is computed once for each struct, so that printing an object visits only the parts that have such fields.
 */
import { schemaOf } from '../schema/schema.ts';
import type { FieldSchema, StructSchema, TypeSchema } from '../schema/type-schema.ts';

/** The form here of a value that Go prints as null. */
export type AbsentForm = 'list' | 'map' | 'text' | 'absent';

/** The fields of a struct that may be null, and the fields that hold structs with such fields. */
export interface NullPlan {
  readonly nullable: readonly (readonly [name: string, nothing: AbsentForm])[];
  readonly parts: readonly (readonly [name: string, part: PlannedPart])[];
}

/** A field whose value contains structs with a plan: a struct, or a list or map of them. */
export interface PlannedPart {
  readonly holders: readonly ('list' | 'map')[];
  readonly plan: NullPlan;
}

const plans = new WeakMap<StructSchema, NullPlan | undefined>();

/** Undefined when nothing in the struct is written as null. */
function planOf(schema: StructSchema): NullPlan | undefined {
  if (plans.has(schema)) return plans.get(schema);
  // Only JSON schemas contain themselves, and none of their fields is printed as null.
  plans.set(schema, undefined);
  const fields = [...schema.fields.values()];
  const nullable = fields.flatMap((field) => {
    const nothing = nothingOf(schema, field);
    return nothing === undefined ? [] : [[field.name, nothing] as const];
  });
  const parts = fields.flatMap((field) => {
    const part = partOf(field.type);
    return part === undefined ? [] : [[field.name, part] as const];
  });
  const plan = nullable.length + parts.length === 0 ? undefined : { nullable, parts };
  plans.set(schema, plan);
  return plan;
}

function partOf(type: TypeSchema): PlannedPart | undefined {
  const holders: ('list' | 'map')[] = [];
  let inner = type;
  while (inner.kind === 'list' || inner.kind === 'map') {
    holders.push(inner.kind);
    inner = inner.kind === 'list' ? inner.items : inner.values;
  }
  const plan = inner.kind === 'struct' ? planOf(inner) : undefined;
  return plan && { holders, plan };
}

function nothingOf(schema: StructSchema, { type, pointer, omitempty, pb }: FieldSchema): AbsentForm | undefined {
  if (pb.length === 0) return undefined;
  if (pointer) return omitempty ? undefined : 'absent';
  if (isTime(type)) return schema.name === 'meta.v1.ObjectMeta' ? undefined : 'absent';
  if (type.kind === 'any') return type.form === 'object' ? 'absent' : undefined;
  if (omitempty) return undefined;
  if (type.kind === 'list' || type.kind === 'map') return type.kind;
  return type.kind === 'scalar' && type.scalar === 'bytes' ? 'text' : undefined;
}

function isTime(type: TypeSchema): boolean {
  return type.kind === 'scalar' && (type.scalar === 'time' || type.scalar === 'microTime');
}

const absentNames = new WeakMap<StructSchema, readonly string[]>();

/** The fields that are absent here where upstream prints null: their field managers own them like values. */
export function nullsOfAbsent(schema: StructSchema): readonly string[] {
  let names = absentNames.get(schema);
  if (names === undefined) {
    names = (planOf(schema)?.nullable ?? []).filter(([, nothing]) => nothing === 'absent').map(([name]) => name);
    absentNames.set(schema, names);
  }
  return names;
}

/** The plan of a built-in kind; undefined for other kinds and for kinds without such fields. */
export function nullPlanOf(apiVersion: unknown, kind: unknown): NullPlan | undefined {
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') return undefined;
  const slash = apiVersion.indexOf('/');
  const schema = schemaOf(apiVersion.slice(0, Math.max(slash, 0)), apiVersion.slice(slash + 1), kind);
  return schema && planOf(schema);
}
