/**
 * Converts objects to and from upstream's JSON. Go's JSON has null where a field that is always written is nil; here, lists and
 * maps are empty and other values absent, so that types hold at run time. The conversion takes place where JSON is written and
 * read.
 * Upstream stores built-in kinds as protobuf, which does not distinguish an empty list from nil, so an empty list is null too.
 */
import { type AbsentForm, type NullPlan, nullPlanOf, type PlannedPart } from './null-plan.ts';
import { isObject, setOwn, type JsonObject } from './own-property.ts';

/**
 * The object as upstream writes it. The input is not changed; equal parts are shared with it. Custom resources are returned
 * unchanged.
 */
export function asWritten<T extends object>(object: T): T {
  const { apiVersion, kind } = object as JsonObject;
  const plan = nullPlanOf(apiVersion, kind);
  return plan === undefined ? object : (structAsWritten(plan, object as JsonObject) as T);
}

/** The form that objects have here of a value parsed from upstream's JSON. The input is not changed. */
export function asRead<T>(value: T): T {
  const plan = isObject(value) ? nullPlanOf(value['apiVersion'], value['kind']) : undefined;
  return plan === undefined ? value : (structAsRead(plan, value as JsonObject) as T);
}

type ChangeStruct = (plan: NullPlan, value: JsonObject) => JsonObject;

function structAsWritten(plan: NullPlan, value: JsonObject): JsonObject {
  let out = value;
  for (const [name, nothing] of plan.nullable) {
    if (!isNothing(nothing, value[name])) continue;
    if (out === value) out = { ...value };
    out[name] = null;
  }
  return withParts(plan, { value, out }, structAsWritten);
}

function isNothing(nothing: AbsentForm, value: unknown): boolean {
  if (value === undefined || value === null) return true;
  switch (nothing) {
    case 'list':
      return (value as readonly unknown[]).length === 0;
    case 'map':
      return Object.keys(value).length === 0;
    case 'text':
      return value === '';
    case 'absent':
      return false;
  }
}

function structAsRead(plan: NullPlan, value: JsonObject): JsonObject {
  let out = value;
  const absent: string[] = [];
  for (const [name, nothing] of plan.nullable) {
    if (value[name] !== null) continue;
    if (nothing === 'absent') absent.push(name);
    else {
      if (out === value) out = { ...value };
      out[name] = nothing === 'list' ? [] : nothing === 'map' ? {} : '';
    }
  }
  if (absent.length > 0) out = Object.fromEntries(Object.entries(out).filter(([name]) => !absent.includes(name)));
  return withParts(plan, { value, out }, structAsRead);
}

/** Converts the structs in the parts of `out`, which is the value or a copy of it. */
function withParts(
  { parts }: NullPlan,
  { value, out }: { value: JsonObject; out: JsonObject },
  change: ChangeStruct,
): JsonObject {
  let changed = out;
  for (const [name, part] of parts) {
    const before = value[name];
    if (typeof before !== 'object' || before === null) continue;
    const after = changePart(part, { value: before, level: 0 }, change);
    if (after === before) continue;
    if (changed === value) changed = { ...value };
    changed[name] = after;
  }
  return changed;
}

function changePart(
  part: PlannedPart,
  { value, level }: { value: object; level: number },
  change: ChangeStruct,
): unknown {
  const holder = part.holders[level];
  if (holder === undefined) return change(part.plan, value as JsonObject);
  const changeItem = (item: unknown): unknown =>
    typeof item === 'object' && item !== null ? changePart(part, { value: item, level: level + 1 }, change) : item;
  return holder === 'list'
    ? changeList(value as readonly unknown[], changeItem)
    : changeEntries(value as JsonObject, changeItem);
}

function changeList(list: readonly unknown[], change: (item: unknown) => unknown): readonly unknown[] {
  let out: unknown[] | undefined;
  for (let index = 0; index < list.length; index++) {
    const after = change(list[index]);
    if (after !== list[index]) (out ??= [...list])[index] = after;
  }
  return out ?? list;
}

function changeEntries(map: JsonObject, change: (item: unknown) => unknown): JsonObject {
  let out: JsonObject | undefined;
  for (const key of Object.keys(map)) {
    const after = change(map[key]);
    if (after !== map[key]) setOwn((out ??= { ...map }), key, after);
  }
  return out ?? map;
}
