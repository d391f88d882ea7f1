/**
 * Judges the rules of a schema when their CustomResourceDefinition is written: they compile, texts and paths are well
 * formed, transition rules stand where the value before can be told, and none may cost too much. Upstream:
 * apiextensions-apiserver/pkg/apis/apiextensions/validation (ValidateCustomResourceDefinitionOpenAPISchema).
 */
import type { Field } from '../../field-error.ts';
import type { JSONSchemaProps, ValidationRule } from '../../gen/apiextensions-v1.ts';
import { estimateCost } from '../cost/estimate.ts';
import { fieldPathSteps } from './field-path.ts';
import type { CompiledRule, RuleSchema } from './rule-schema.ts';
import { mostInRequest, sizeBelow } from './size.ts';

/** What one rule may cost in one object at worst. */
const RULE_COST_LIMIT = 10_000_000;
/** What all rules of a schema may cost together. */
const SCHEMA_COST_LIMIT = 100_000_000;

const REASONS = ['FieldValueRequired', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueDuplicate'];
const ADVICE =
  'try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared';

/** Adds what is wrong with the rules to `field`, the place of the schema (`spec.validation.openAPIV3Schema`). */
export function checkRules(schema: RuleSchema, field: Field): void {
  const check = new RuleCheck();
  check.visit(schema, field, undefined);
  if (check.total > SCHEMA_COST_LIMIT) {
    const factor = factorText(check.total, SCHEMA_COST_LIMIT);
    for (const { place } of check.dearest())
      place.forbidden('contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema');
    field.forbidden(
      `x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of ${factor} (${ADVICE})`,
    );
  }
}

class RuleCheck {
  readonly #costs: { readonly place: Field; readonly cost: number }[] = [];
  total = 0;

  /** The rules that cost most, at most four. */
  dearest(): readonly { readonly place: Field }[] {
    return this.#costs.toSorted((a, b) => b.cost - a.cost).slice(0, 4);
  }

  /** `uncorrelated`: the list or map above that keeps values from being told from one another. */
  visit(schema: RuleSchema, field: Field, uncorrelated: string | undefined): void {
    if (!schema.hasRules) return;
    for (const [index, compiled] of schema.rules.entries()) {
      const place = field.at('x-kubernetes-validations').item(index);
      checkText(compiled.rule, schema.props, place);
      this.#checkCompiled(compiled, { schema, place, uncorrelated });
    }
    for (const [name, property] of schema.properties)
      this.visit(property, field.at('properties').key(name), below(schema, field, uncorrelated));
    if (schema.items !== undefined) this.visit(schema.items, field.at('items'), below(schema, field, uncorrelated));
    if (schema.additional !== undefined)
      this.visit(schema.additional, field.at('additionalProperties'), below(schema, field, uncorrelated));
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

/** Items of sets and of plain lists, and what is in atomic maps, have no identity over time. */
function below(schema: RuleSchema, field: Field, uncorrelated: string | undefined): string | undefined {
  if (uncorrelated !== undefined) return uncorrelated;
  const { props } = schema;
  if (props.type === 'array' && props['x-kubernetes-list-type'] !== 'map') return field.path;
  if (props['x-kubernetes-map-type'] === 'atomic') return field.path;
  return undefined;
}

function factorText(cost: number, limit: number): string {
  const factor = cost / limit;
  return factor > 100 ? 'more than 100x' : `${factor.toFixed(1)}x`;
}

/** A rule as upstream's Go prints it in errors: field names of the internal type. */
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

function checkText(rule: ValidationRule, schema: JSONSchemaProps, place: Field): void {
  if ((rule.rule ?? '').trim() === '') place.at('rule').required('rule is not specified');
  checkMessage(rule, place);
  if (rule.reason !== undefined && !REASONS.includes(rule.reason))
    place.at('reason').notSupported(rule.reason, REASONS);
  if ((rule.fieldPath ?? '') === '') return;
  const steps = fieldPathSteps(rule.fieldPath!, schema);
  if (typeof steps === 'string')
    place.at('fieldPath').invalid(rule.fieldPath, `fieldPath must be a valid path: ${steps}`);
}

function checkMessage({ rule, message, messageExpression }: ValidationRule, place: Field): void {
  if (message !== undefined && message !== '') {
    if (message.trim() === '') place.at('message').invalid(message, 'message must be non-empty if specified');
    else if (message.trim().includes('\n'))
      place.at('message').invalid(message.trim(), 'message must not contain line breaks');
  } else if ((rule ?? '').trim().includes('\n') && (messageExpression ?? '') === '')
    place.at('message').required('message must be specified if rule contains line breaks');
  if (messageExpression !== undefined && messageExpression !== '' && messageExpression.trim() === '')
    place.at('messageExpression').required('messageExpression must be non-empty if specified');
}
