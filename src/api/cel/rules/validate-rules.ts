/**
 * Evaluates the rules of a schema on an object: at each place its own rules first, then those below. Transition rules run where
 * the old value is known: in structs, granular maps and lists of type map. A failure about an unchanged value is only a warning
 * (ratcheting). Upstream: apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go.
 */
import { isObject } from '../../codec/own-property.ts';
import { stringifyJson } from '../../codec/json.ts';
import { deepEqual } from '../../../base/equal.ts';
import { allSteps, type Steps } from '../../../base/steps.ts';
import { duplicate, type Field, forbiddenField, invalidValue, required } from '../../field-error.ts';
import type { ValidationRule } from '../../gen/apiextensions-v1.ts';
import type { FieldCause } from '../../status-error.ts';
import { Meter, PER_CALL_LIMIT, RUNTIME_COST_BUDGET } from '../meter.ts';
import { Optional } from '../runtime/values.ts';
import { RuntimeError } from '../texts.ts';
import { readFieldPath, placeOf } from './field-path.ts';
import type { CompiledRule, RuleSchema } from './rule-schema.ts';

interface RuleFindings {
  readonly errors: FieldCause[];
  /** Errors about unchanged values. */
  readonly warnings: FieldCause[];
  /** The rest of the budget; 0 when it was exceeded. */
  readonly budget: number;
}

/** The value under validation and, on updates, the old value. */
interface RuleValues {
  readonly value: unknown;
  readonly old?: unknown;
}

/** {@link ruleSteps}, run without a pause. */
export function validateRules(schema: RuleSchema, values: RuleValues, field: Field): RuleFindings {
  return allSteps(ruleSteps(schema, values, field));
}

/** Evaluates all rules within the budget, by default that of one object. It never throws for rules or objects of users. */
export function* ruleSteps(
  schema: RuleSchema,
  values: RuleValues,
  field: Field,
  budget = RUNTIME_COST_BUDGET,
): Steps<RuleFindings> {
  const walk = new RuleWalk(budget);
  if (schema.hasRules) yield* walk.visit(schema, values, field);
  return walk.findings;
}

/** A step evaluates rules until their cost exceeds this, a few milliseconds. */
const COST_OF_STEP = 50_000;
/** The cost of wrapping the values for one evaluation, besides the expression's own. */
const BASE_COST = 100;

/** The maximum size in bytes of a message that an expression returns. */
const MAX_MESSAGE_BYTES = 5 * 1024;

class RuleWalk {
  readonly #errors: FieldCause[] = [];
  readonly #warnings: FieldCause[] = [];
  #budget: number;
  #spentInStep = 0;
  #stopped = false;

  constructor(budget: number) {
    this.#budget = budget;
  }

  get findings(): RuleFindings {
    return { errors: this.#errors, warnings: this.#warnings, budget: this.#budget };
  }

  *visit(schema: RuleSchema, values: RuleValues, field: Field): Steps<void> {
    if (!schema.hasRules || this.#stopped || values.value === null || values.value === undefined) return;
    yield* this.#runRules(schema, values, field);
    if (Array.isArray(values.value)) yield* this.#visitList(schema, values, field);
    else if (typeof values.value === 'object') yield* this.#visitObject(schema, values, field);
  }

  *#visitObject(schema: RuleSchema, { value, old }: RuleValues, field: Field): Steps<void> {
    const before = isObject(old) && schema.props['x-kubernetes-map-type'] !== 'atomic' ? old : {};
    for (const [name, item] of Object.entries(value as object)) {
      const property = schema.properties.get(name);
      const inner = property ?? schema.additional;
      if (inner === undefined || !inner.hasRules) continue;
      const was = Object.hasOwn(before, name) ? before[name] : undefined;
      yield* this.visit(inner, { value: item, old: was }, property === undefined ? field.key(name) : field.at(name));
    }
  }

  *#visitList(schema: RuleSchema, { value, old }: RuleValues, field: Field): Steps<void> {
    const { items } = schema;
    if (items === undefined || !items.hasRules) return;
    const before = correlator(schema, old);
    for (const [index, item] of (value as unknown[]).entries())
      yield* this.visit(items, { value: item, old: before(item) }, field.item(index));
  }

  *#runRules(schema: RuleSchema, values: RuleValues, field: Field): Steps<void> {
    const { type } = schema;
    if (type === undefined || schema.rules.length === 0) return;
    const hasOld = values.old !== undefined && values.old !== null;
    const self = type.value(values.value);
    const old = hasOld ? type.value(values.old) : undefined;
    const unchanged = hasOld && deepEqual(values.value, values.old);
    for (const compiled of schema.rules) {
      if (this.#stopped) return;
      const { rule, usesOldSelf } = compiled;
      if (usesOldSelf && !hasOld && rule.optionalOldSelf !== true) continue;
      const oldSelf = rule.optionalOldSelf === true ? (hasOld ? Optional.of(old) : Optional.none) : old;
      const list = unchanged && !usesOldSelf ? this.#warnings : this.#errors;
      const fieldCause = this.#evaluate(compiled, { self, oldSelf }, { schema, value: values.value, field });
      if (fieldCause !== undefined) list.push(fieldCause);
      if (this.#spentInStep < COST_OF_STEP) continue;
      this.#spentInStep = 0;
      yield;
    }
  }

  #evaluate(
    compiled: CompiledRule,
    activation: { self: unknown; oldSelf: unknown },
    at: RulePosition,
  ): FieldCause | undefined {
    const { rule, program, error } = compiled;
    if (program === undefined)
      return error === undefined
        ? undefined
        : invalidValue(at.field.path, at.schema.props.type ?? '', `rule compile error: ${error}`);
    const meter = new Meter(Math.min(PER_CALL_LIMIT, this.#budget));
    try {
      const holds = program.run(activation, meter) === true;
      this.#spend(meter);
      if (holds) return undefined;
    } catch (failure) {
      this.#spend(meter);
      if (!(failure instanceof RuntimeError)) throw failure;
      return this.#failure(failure, rule, at);
    }
    if (this.#budget <= 0) return this.#outOfBudget(at);
    return this.#violation(compiled, activation, at);
  }

  #spend(meter: Meter): void {
    this.#budget -= Math.min(meter.spent, this.#budget);
    this.#spentInStep += meter.spent + BASE_COST;
  }

  #failure(failure: RuntimeError, rule: ValidationRule, at: RulePosition): FieldCause {
    const { path } = at.field;
    const type = at.schema.props.type ?? '';
    const text = (rule.message ?? '') === '' ? rule.rule.trim() : rule.message!.trim();
    if (failure.costExceeded) {
      if (this.#budget <= 0) return this.#outOfBudget(at);
      this.#stopped = true;
      return invalidValue(
        path,
        type,
        `'${failure.message}': no further validation rules will be run due to call cost exceeds limit for rule: ${text}`,
      );
    }
    if (failure.message.startsWith('no such overload'))
      return invalidValue(
        path,
        type,
        `'${failure.message}': call arguments did not match a supported operator, function or macro signature for rule: ${text}`,
      );
    return invalidValue(path, type, `${failure.message} evaluating rule: ${text}`);
  }

  #outOfBudget({ field, schema }: RulePosition): FieldCause {
    this.#stopped = true;
    const text = 'validation failed due to running out of cost budget, no further validation rules will be run';
    return invalidValue(field.path, schema.props.type ?? '', text);
  }

  #violation(compiled: CompiledRule, activation: { self: unknown; oldSelf: unknown }, at: RulePosition): FieldCause {
    const { rule } = compiled;
    const made = this.#message(compiled, activation);
    const target = readFieldPath(rule.fieldPath ?? '', at.schema.props);
    const { path } = typeof target === 'string' ? at.field : placeOf(at.field, target.steps);
    const fallback = (rule.message ?? '') === '' ? `failed rule: ${rule.rule.trim()}` : rule.message!.trim();
    const omitsValue = made !== undefined || typeof at.value === 'object';
    return causeFor(rule.reason, { path, value: at.value, omitsValue, text: made ?? fallback });
  }

  /** The text of `messageExpression`; undefined when it fails or returns a text that cannot be shown. */
  #message({ message }: CompiledRule, activation: { self: unknown; oldSelf: unknown }): string | undefined {
    if (message === undefined) return undefined;
    const meter = new Meter(Math.min(PER_CALL_LIMIT, this.#budget));
    try {
      const text = String(message.run(activation, meter)).trim();
      if (text === '' || text.includes('\n') || Buffer.byteLength(text) > MAX_MESSAGE_BYTES) return undefined;
      return text;
    } catch (failure) {
      if (!(failure instanceof RuntimeError)) throw failure;
      return undefined;
    } finally {
      this.#spend(meter);
    }
  }
}

interface RulePosition {
  readonly schema: RuleSchema;
  readonly value: unknown;
  readonly field: Field;
}

interface Violation {
  readonly path: string;
  readonly value: unknown;
  /** Errors omit the value when it is an object or list, or when an expression returned the message. */
  readonly omitsValue: boolean;
  readonly text: string;
}

function causeFor(reason: string | undefined, { path, value, omitsValue, text }: Violation): FieldCause {
  switch (reason) {
    case 'FieldValueForbidden':
      return forbiddenField(path, text);
    case 'FieldValueRequired':
      return required(path, text);
    case 'FieldValueDuplicate':
      return duplicate(path, value);
    default:
      if (!omitsValue) return invalidValue(path, value, text);
      return { reason: 'FieldValueInvalid', field: path, text: `Invalid value: ${text}` };
  }
}

/** A function that finds the old item by the keys of a list of type map; items of other lists have no old value. */
function correlator(schema: RuleSchema, old: unknown): (item: unknown) => unknown {
  const keys = schema.props['x-kubernetes-list-map-keys'] ?? [];
  if (!Array.isArray(old) || schema.props['x-kubernetes-list-type'] !== 'map' || keys.length === 0)
    return () => undefined;
  const keyOf = (item: unknown): string =>
    stringifyJson(keys.map((key) => (isObject(item) ? (item[key] ?? null) : null)));
  const known = new Map(old.map((item: unknown) => [keyOf(item), item]));
  return (item) => known.get(keyOf(item));
}
