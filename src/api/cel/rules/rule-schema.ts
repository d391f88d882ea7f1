/**
 * A structural schema with compiled `x-kubernetes-validations`: a tree like the schema, pruned to the places with rules at or
 * below them. Upstream: apiextensions-apiserver/pkg/apiserver/schema/cel/{compilation,validation}.go.
 */
import type { JSONSchemaProps, ValidationRule } from '../../gen/apiextensions-v1.ts';
import { allSteps, type Steps } from '../../../base/steps.ts';
import { compile, COMPILE_TOGETHER_LIMIT, type Program } from '../compile.ts';
import { type CelEnvironment, createEnvironment, extendEnvironment } from '../environment.ts';
import { walk } from '../language/expr.ts';
import { Meter, metered } from '../meter.ts';
import { CompileError } from '../texts.ts';
import { optionalOf } from '../types/type.ts';
import type { StructField, ValueType } from '../value-types.ts';
import { escapeName } from './escape.ts';
import { SchemaTypes, type SchemaValues } from './schema-values.ts';
import { SCALAR_SIZE, type Size, UNKNOWN_SIZE } from './size.ts';

/** A rule with its program or its compile error. */
export interface CompiledRule {
  readonly rule: ValidationRule;
  readonly program?: Program;
  /** The compile error, when there is no program. */
  readonly error?: string;
  readonly message?: Program;
  readonly messageError?: string;
  /** The rule reads `oldSelf`: it is evaluated on updates only, unless `optionalOldSelf` is set. */
  readonly usesOldSelf: boolean;
}

/** One node of the schema with its rules. */
export interface RuleSchema {
  readonly props: JSONSchemaProps;
  readonly type: ValueType | undefined;
  readonly size: Size;
  /** The number of values that may stand here in one object, for estimates; infinite below lists and maps without a limit. */
  readonly cardinality: number;
  readonly rules: readonly CompiledRule[];
  readonly properties: ReadonlyMap<string, RuleSchema>;
  readonly items: RuleSchema | undefined;
  readonly additional: RuleSchema | undefined;
  /** Whether this node or one below it has a rule. */
  readonly hasRules: boolean;
}

/** {@link compileRuleSteps}, run without a pause. */
export function compileRuleSchema(props: JSONSchemaProps): RuleSchema {
  return allSteps(compileRuleSteps(props));
}

/** Compiles all rules of a schema in steps. It does not throw for invalid rules: their errors stand in the result. */
export function* compileRuleSteps(props: JSONSchemaProps): Steps<RuleSchema> {
  if (!mentionsRules(props)) return empty(props);
  const types = new SchemaTypes();
  const values = types.valuesOf(props, 'object', true);
  const environment = createEnvironment({});
  const meter = new Meter(COMPILE_TOGETHER_LIMIT);
  return yield* build(props, { values, types, environment, cardinality: 1, meter });
}

function empty(props: JSONSchemaProps): RuleSchema {
  const nothing = {
    items: undefined,
    additional: undefined,
    hasRules: false,
    rules: [],
    properties: new Map(),
  };
  return { props, type: undefined, size: UNKNOWN_SIZE, cardinality: 1, ...nothing };
}

function mentionsRules(props: JSONSchemaProps): boolean {
  if ((props['x-kubernetes-validations'] ?? []).length > 0) return true;
  return childSchemas(props).some(mentionsRules);
}

function childSchemas({ properties, items, additionalProperties }: JSONSchemaProps): JSONSchemaProps[] {
  const inside = [
    ...Object.values(properties ?? {}),
    ...(Array.isArray(items) ? items : items === undefined ? [] : [items]),
  ];
  return typeof additionalProperties === 'object' ? [...inside, additionalProperties] : inside;
}

interface SchemaContext {
  readonly values: SchemaValues | undefined;
  readonly types: SchemaTypes;
  readonly environment: CelEnvironment;
  readonly cardinality: number;
  /** Counts the cost of compiling all rules together. */
  readonly meter: Meter;
}

function* build(props: JSONSchemaProps, place: SchemaContext): Steps<RuleSchema> {
  if (!mentionsRules(props)) return { ...empty(props), cardinality: place.cardinality };
  const { values, types, cardinality } = place;
  const size = values?.size ?? SCALAR_SIZE;
  const properties = new Map<string, RuleSchema>();
  const fields = new Map(values?.type.fields?.map((field) => [field.json, field]));
  for (const [name, property] of Object.entries(props.properties ?? {})) {
    // Rules of outer schemas cannot name a field whose name cannot be escaped; rules of that field still run.
    const inner =
      escapeName(name) === undefined
        ? types.valuesOf(property, 'object')
        : values && fieldValues(values, fields.get(name));
    properties.set(name, yield* build(property, { ...place, values: inner }));
  }
  const within = (inside: JSONSchemaProps): Steps<RuleSchema> =>
    build(inside, { ...place, values: insideValues(values), cardinality: cardinality * limitOf(props) });
  const { items, additionalProperties } = props;
  return {
    props,
    type: values?.type,
    size,
    cardinality,
    rules: yield* compileRules(props, place),
    properties,
    items: items === undefined || Array.isArray(items) ? undefined : yield* within(items),
    additional: typeof additionalProperties === 'object' ? yield* within(additionalProperties) : undefined,
    hasRules: true,
  };
}

/** As upstream, only an explicit limit counts; the size of a request limits all other lists and maps together. */
function limitOf({ type, maxItems, maxProperties }: JSONSchemaProps): number {
  return Math.max(1, Number((type === 'array' ? maxItems : maxProperties) ?? Number.POSITIVE_INFINITY));
}

function fieldValues(outer: SchemaValues, field: StructField | undefined): SchemaValues | undefined {
  if (field === undefined) return undefined;
  return { type: field.type, size: outer.size.fields?.get(field.name) ?? UNKNOWN_SIZE };
}

function insideValues(outer: SchemaValues | undefined): SchemaValues | undefined {
  if (outer?.type.inside === undefined) return undefined;
  return { type: outer.type.inside, size: outer.size.items ?? UNKNOWN_SIZE };
}

function* compileRules(props: JSONSchemaProps, place: SchemaContext): Steps<CompiledRule[]> {
  const compiled: CompiledRule[] = [];
  for (const rule of props['x-kubernetes-validations'] ?? []) {
    const before = stepOf(place.meter);
    compiled.push(metered(place.meter, () => compileRule(rule, place)));
    if (stepOf(place.meter) !== before) yield;
  }
  return compiled;
}

/** A step compiles rules until their work exceeds this, about a millisecond. */
const WORK_OF_STEP = 20_000;

function stepOf({ spent }: Meter): number {
  return Math.floor(spent / WORK_OF_STEP);
}

function compileRule(rule: ValidationRule, { values, environment }: SchemaContext): CompiledRule {
  const usesOldSelf = false;
  if (values === undefined)
    return { rule, usesOldSelf, error: 'compilation failed: no value of this type is accessible' };
  if ((rule.rule ?? '').trim() === '') return { rule, usesOldSelf };
  const { type } = values.type;
  const oldSelf = rule.optionalOldSelf === true ? optionalOf(type) : type;
  const scope = extendEnvironment(environment, { self: type, oldSelf });
  const { program, error } = tryCompile(rule.rule, scope, 'bool');
  const message = attemptMessage(rule.messageExpression, scope);
  return {
    rule,
    usesOldSelf: program !== undefined && names(program.tree, 'oldSelf'),
    program,
    error,
    ...message,
  };
}

function attemptMessage(expression: string | undefined, scope: CelEnvironment): Partial<CompiledRule> {
  if ((expression ?? '') === '') return {};
  const { program, error } = tryCompile(expression!, scope, 'string');
  if (program !== undefined) return { message: program };
  return { messageError: `messageExpression ${error}` };
}

const TYPE_ERRORS: Readonly<Record<string, string>> = {
  bool: 'cel expression must evaluate to a bool',
  string: 'must evaluate to a string',
};

function tryCompile(
  expression: string,
  environment: CelEnvironment,
  type: 'bool' | 'string',
): { readonly program?: Program; readonly error?: string } {
  try {
    const program = compile(expression, { environment });
    return program.type.kind === type ? { program } : { error: TYPE_ERRORS[type]! };
  } catch (error) {
    if (!(error instanceof CompileError)) throw error;
    return { error: error.message };
  }
}

/** Whether an expression reads a variable. */
function names(tree: Program['tree'], variable: string): boolean {
  let found = false;
  walk(tree, (expr) => {
    found ||= expr.kind === 'ident' && expr.name === variable;
  });
  return found;
}
