/**
 * Validates the rules of a schema when its CustomResourceDefinition is written. Rules must compile, texts and paths must be well
 * formed, transition rules must stand where old values are known, and costs are limited. Upstream:
 * apiextensions-apiserver/pkg/apis/apiextensions/validation (ValidateCustomResourceDefinitionOpenAPISchema).
 */
import type { Field } from '../../field-error.ts';
import type { JSONSchemaProps, ValidationRule } from '../../gen/apiextensions-v1.ts';
import { estimateCost } from '../cost/estimate.ts';
import { readFieldPath } from './field-path.ts';
import type { CompiledRule, RuleSchema } from './rule-schema.ts';
import { mostInRequest, sizeBelow } from './size.ts';

/** The maximum cost of one rule in one object. */
const RULE_COST_LIMIT = 10_000_000;
/** The maximum cost of all rules of a schema together. */
const SCHEMA_COST_LIMIT = 100_000_000;

const REASONS = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'];
const ADVICE =
  'try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared';

/**
 * Adds the errors of the rules to `field`, the path of the schema (`spec.validation.openAPIV3Schema`). `faults`: the paths of
 * the schema's own errors. Rules of a schema with an error at or below its path are not checked.
 */
export function checkRules(schema: RuleSchema, field: Field, faults: readonly string[] = []): void {
  const check = new RuleCheck(faults);
  check.visit(schema, field, undefined);
  if (check.total > SCHEMA_COST_LIMIT) {
    const factor = factorText(check.total, SCHEMA_COST_LIMIT);
    for (const { place } of check.mostExpensive())
      place.forbidden('contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema');
    field.forbidden(
      `x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of ${factor} (${ADVICE})`,
    );
  }
}

class RuleCheck {
  readonly #costs: { readonly place: Field; readonly cost: number }[] = [];
  readonly #faults: readonly string[];
  total = 0;

  constructor(faults: readonly string[]) {
    this.#faults = faults;
  }

  /** The paths of the most expensive rules, at most four. */
  mostExpensive(): readonly { readonly place: Field }[] {
    return this.#costs.toSorted((a, b) => b.cost - a.cost).slice(0, 4);
  }

  /** `uncorrelated`: the enclosing list or map whose values cannot be matched with their old values. */
  visit(schema: RuleSchema, field: Field, uncorrelated: string | undefined): void {
    if (!schema.hasRules) return;
    for (const [name, property] of schema.properties)
      this.visit(property, field.at('properties').key(name), belowMap(schema, field, uncorrelated));
    if (schema.items !== undefined) this.visit(schema.items, field.at('items'), belowList(schema, field, uncorrelated));
    if (schema.additional !== undefined) this.visit(schema.additional, field.at('additionalProperties'), uncorrelated);
    if (schema.rules.length === 0 || this.#hasFault(field.path)) return;
    for (const [index, compiled] of schema.rules.entries())
      this.#checkCompiled(compiled, {
        schema,
        place: field.at('x-kubernetes-validations').item(index),
        uncorrelated,
      });
  }

  #hasFault(path: string): boolean {
    return this.#faults.some((fault) => fault.startsWith(path) && '.['.includes(fault.charAt(path.length)));
  }

  #checkCompiled(
    compiled: CompiledRule,
    at: { schema: RuleSchema; place: Field; uncorrelated: string | undefined },
  ): void {
    const { rule, program, error, message, messageError, usesOldSelf } = compiled;
    const { schema, place, uncorrelated } = at;
    const shown = shownRule(rule);
    if (error !== undefined) place.at('rule').invalid(shown, error);
    if (messageError !== undefined) place.at('messageExpression').invalid(shown, messageError);
    if (program === undefined) return;
    if (usesOldSelf && uncorrelated !== undefined)
      place
        .at('rule')
        .invalid(
          rule.rule,
          `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelated}`,
        );
    if (rule.optionalOldSelf !== undefined && !usesOldSelf)
      place.at('optionalOldSelf').invalid(rule.optionalOldSelf, 'may not be set if oldSelf is not used in rule');
    this.#checkCost(program.tree, schema, { place: place.at('rule'), what: 'rule' });
    if (message !== undefined)
      this.#checkCost(message.tree, schema, {
        place: place.at('messageExpression'),
        what: 'messageExpression',
      });
  }

  #checkCost(
    tree: Parameters<typeof estimateCost>[0],
    schema: RuleSchema,
    { place, what }: { place: Field; what: 'rule' | 'messageExpression' },
  ): void {
    const values = Number.isFinite(schema.cardinality) ? schema.cardinality : mostInRequest(schema.props);
    const cost = estimateCost(tree, sizeBelow(schema.size)).max * values;
    this.total += cost;
    this.#costs.push({ place, cost });
    if (cost <= RULE_COST_LIMIT) return;
    const name = what === 'rule' ? 'estimated rule cost' : 'estimated messageExpression cost';
    place.forbidden(`${name} exceeds budget by factor of ${factorText(cost, RULE_COST_LIMIT)} (${ADVICE})`);
  }
}

/** Values in atomic maps cannot be matched with old values. */
function belowMap({ props }: RuleSchema, field: Field, uncorrelated: string | undefined): string | undefined {
  return uncorrelated ?? (props['x-kubernetes-map-type'] === 'atomic' ? field.path : undefined);
}

/** Items of sets and of atomic lists cannot be matched with old values. */
function belowList({ props }: RuleSchema, field: Field, uncorrelated: string | undefined): string | undefined {
  return uncorrelated ?? (props['x-kubernetes-list-type'] === 'map' ? undefined : field.path);
}

/** Factors below 1.5 have six decimals, so that none is shown as 1.0. */
function factorText(cost: number, limit: number): string {
  const factor = cost / limit;
  if (factor > 100) return 'more than 100x';
  return factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`;
}

/** A rule as upstream's Go prints it in errors, with field names of the internal type. */
function shownRule(rule: ValidationRule): object {
  return {
    Rule: rule.rule,
    Message: rule.message ?? '',
    MessageExpression: rule.messageExpression ?? '',
    Reason: rule.reason ?? null,
    FieldPath: rule.fieldPath ?? '',
    OptionalOldSelf: rule.optionalOldSelf ?? null,
  };
}

/** Adds errors for missing or malformed texts of a schema's own rules, and for field paths that the schema lacks. */
export function checkRuleTexts(schema: JSONSchemaProps, field: Field): void {
  for (const [index, rule] of (schema['x-kubernetes-validations'] ?? []).entries()) {
    const place = field.at('x-kubernetes-validations').item(index);
    checkMessage(rule, place);
    const { messageExpression = '', reason, fieldPath = '' } = rule;
    if (messageExpression !== '' && messageExpression.trim() === '')
      place.at('messageExpression').required('messageExpression must be non-empty if specified');
    if (reason !== undefined && !REASONS.includes(reason)) place.at('reason').notSupported(reason, REASONS);
    if (fieldPath !== '') checkFieldPath(fieldPath, schema, place.at('fieldPath'));
  }
}

function hasNewlines(text: string): boolean {
  return /[\n\r]/u.test(text);
}

/** Adds one error at most: of the rule's text or of its message. */
function checkMessage({ rule, message = '' }: ValidationRule, place: Field): void {
  const [trimmedRule, trimmed] = [(rule ?? '').trim(), message.trim()];
  if (trimmedRule === '') place.at('rule').required('rule is not specified');
  else if (message !== '' && trimmed === '') place.at('message').invalid(message, 'must be non-empty if specified');
  else if (hasNewlines(trimmed)) place.at('message').invalid(message, 'must not contain line breaks');
  else if (hasNewlines(trimmedRule) && trimmed === '')
    place.at('message').required('message must be specified if rule contains line breaks');
}

function checkFieldPath(path: string, schema: JSONSchemaProps, place: Field): void {
  if (path.trim() === '') place.invalid(path, 'must be non-empty if specified');
  if (hasNewlines(path)) place.invalid(path, 'must not contain line breaks');
  if (typeof readFieldPath(path, schema) === 'string') place.invalid(path, 'must be a valid path');
}
