/**
 * The annotations in which autoscaling/v1 keeps what it has no fields for: metrics in v1's form, behavior in the form
 * of upstream's internal struct. Upstream: apis/autoscaling/annotations.go, helpers.go.
 */
import { decodeTyped, DecodeError } from '../../../api/codec/typed.ts';
import type { HorizontalPodAutoscalerBehavior, HPAScalingRules } from '../../../api/gen/autoscaling-v2.ts';
import type { ObjectMeta } from '../../../api/gen/meta-v1.ts';
import { typeSchema } from '../../../api/schema/schema.ts';
import type { StructSchema } from '../../../api/schema/type-schema.ts';
import { isObject } from '../../../api/codec/own-property.ts';
import { scanJsonIn } from '../../../api/codec/parts.ts';

const PREFIX = 'autoscaling.alpha.kubernetes.io/';
export const METRICS = `${PREFIX}metrics`;
export const CURRENT_METRICS = `${PREFIX}current-metrics`;
export const CONDITIONS = `${PREFIX}conditions`;
export const BEHAVIOR = `${PREFIX}behavior`;

const ROUND_TRIP = [
  METRICS,
  BEHAVIOR,
  `${PREFIX}scale-down-tolerance`,
  `${PREFIX}scale-up-tolerance`,
  CURRENT_METRICS,
  CONDITIONS,
];

/** The metadata without these annotations, which stored objects do not have. */
export function withoutRoundTrip(metadata: ObjectMeta): ObjectMeta {
  const { annotations, ...rest } = metadata;
  if (annotations === undefined || !ROUND_TRIP.some((key) => annotations[key] !== undefined)) return metadata;
  const remaining = Object.entries(annotations).filter(([key]) => !ROUND_TRIP.includes(key));
  return remaining.length === 0 ? rest : { ...rest, annotations: Object.fromEntries(remaining) };
}

/** Sets these annotations of the draft to the stored object's. */
export function keepRoundTrip(draft: ObjectMeta, stored: ObjectMeta, keys: readonly string[]): void {
  const remaining = Object.entries(draft.annotations ?? {}).filter(([key]) => !keys.includes(key));
  for (const key of keys) {
    const text = stored.annotations?.[key];
    if (text !== undefined) remaining.push([key, text]);
  }
  if (remaining.length > 0) draft.annotations = Object.fromEntries(remaining);
  else delete draft.annotations;
}

/** The metadata with these annotations; undefined ones are left out. */
export function withRoundTrip(metadata: ObjectMeta, values: Readonly<Record<string, string | undefined>>): ObjectMeta {
  const added = Object.entries(values).filter(([, text]) => text !== undefined);
  const plain = withoutRoundTrip(metadata);
  if (added.length === 0) return plain;
  return { ...plain, annotations: { ...plain.annotations, ...(Object.fromEntries(added) as Record<string, string>) } };
}

/** Throws 413 for a value with too many parts, since it is parsed in one turn, several times. */
function parsed(metadata: ObjectMeta, key: string): unknown {
  const text = metadata.annotations?.[key];
  if (text === undefined || scanJsonIn(`the annotation ${key}`, text)) return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    // Annotations may have any content; what does not parse counts as absent.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** The list in an annotation; undefined where it is absent or has another form. */
export function listFrom<T>(metadata: ObjectMeta, key: string, typeName: string): readonly T[] | undefined {
  const list = parsed(metadata, key);
  if (!Array.isArray(list)) return undefined;
  return decoded(() => list.map((item) => decodeAs(typeName, item) as T));
}

function decodeAs(typeName: string, value: unknown): object {
  return decodeTyped(typeSchema(typeName) as StructSchema, value).object;
}

function decoded<T>(decode: () => T): T | undefined {
  try {
    return decode();
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}

function goRules(rules: HPAScalingRules | undefined): object | null {
  if (rules === undefined) return null;
  const { stabilizationWindowSeconds = null, selectPolicy = null, policies, tolerance = null } = rules;
  return {
    StabilizationWindowSeconds: stabilizationWindowSeconds,
    SelectPolicy: selectPolicy,
    Policies:
      policies?.map(({ type, value, periodSeconds }) => ({ Type: type, Value: value, PeriodSeconds: periodSeconds })) ??
      null,
    Tolerance: tolerance,
  };
}

/** The behavior as the text of an annotation. */
export function behaviorText({ scaleUp, scaleDown }: HorizontalPodAutoscalerBehavior): string {
  return JSON.stringify({ ScaleUp: goRules(scaleUp), ScaleDown: goRules(scaleDown) });
}

/** The nesting depth: behavior, rules, policies, a policy, its fields. */
const BEHAVIOR_DEPTH = 5;

/**
 * Changes field names to a small first letter, down to a behavior's depth, and drops nulls. Go accepts names in any
 * case.
 */
function fieldNames(value: unknown, depth = BEHAVIOR_DEPTH): unknown {
  if (depth === 0) return value;
  if (Array.isArray(value)) return value.map((item) => fieldNames(item, depth - 1));
  if (!isObject(value)) return value;
  const named = (name: string): string => `${name.slice(0, 1).toLowerCase()}${name.slice(1)}`;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, part]) =>
      part === null ? [] : [[named(name), fieldNames(part, depth - 1)]],
    ),
  );
}

/** The behavior in an annotation; undefined where it is absent or empty. */
export function behaviorFrom(metadata: ObjectMeta): HorizontalPodAutoscalerBehavior | undefined {
  const value = parsed(metadata, BEHAVIOR);
  if (!isObject(value)) return undefined;
  const behavior = decoded(() => decodeAs('autoscaling.v2.HorizontalPodAutoscalerBehavior', fieldNames(value)));
  return behavior === undefined || Object.keys(behavior).length === 0 ? undefined : behavior;
}
