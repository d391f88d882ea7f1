// The wire form of a struct: its fields by protobuf number. Messages that upstream embeds (ProbeHandler in Probe) are nested
// plans whose fields belong to the same JSON object.

import type { FieldSchema, StructSchema } from '../schema/type-schema.ts';

/** One protobuf field: a JSON field, or an embedded message. */
export type PbSlot =
  | { readonly number: number; readonly field: FieldSchema; readonly inline?: undefined }
  | { readonly number: number; readonly field?: undefined; readonly inline: PbPlan };

/** The fields of one message. */
export interface PbPlan {
  /** In descending order of number, as the backward writer needs them. */
  readonly descending: readonly PbSlot[];
  readonly byNumber: ReadonlyMap<number, PbSlot>;
}

const plans = new WeakMap<StructSchema, PbPlan>();

/** The plan of a struct, computed once. Fields without a number exist only in JSON. */
export function planOf(schema: StructSchema): PbPlan {
  const cached = plans.get(schema);
  if (cached !== undefined) return cached;
  const plan = build(
    [...schema.fields.values()].filter((f) => f.pb.length > 0),
    0,
  );
  plans.set(schema, plan);
  return plan;
}

function build(fields: readonly FieldSchema[], depth: number): PbPlan {
  const slots: PbSlot[] = [];
  const embedded = new Map<number, FieldSchema[]>();
  for (const field of fields) {
    const number = field.pb[depth] as number;
    if (field.pb.length === depth + 1) slots.push({ number, field });
    else embedded.set(number, [...(embedded.get(number) ?? []), field]);
  }
  for (const [number, inner] of embedded) slots.push({ number, inline: build(inner, depth + 1) });
  const descending = slots.sort((a, b) => b.number - a.number);
  return { descending, byNumber: new Map(descending.map((slot) => [slot.number, slot])) };
}
