/**
 * Validates custom resources by the schema of their version. Upstream: customresource/validator.go and the additions
 * of strategy.go.
 */
import { compileRuleSteps, type RuleSchema } from '../../api/cel/rules/rule-schema.ts';
import { ruleSteps } from '../../api/cel/rules/validate-rules.ts';
import { Field, invalidValue } from '../../api/field-error.ts';
import type {
  CustomResourceDefinitionVersion,
  CustomResourceSubresourceScale,
} from '../../api/gen/apiextensions-v1.ts';
import { findValues } from '../../api/json-path-search.ts';
import { parseJsonPath } from '../../api/json-path.ts';
import { objectRuleSteps } from '../../api/json-schema/object-rules.ts';
import { validationSteps } from '../../api/json-schema/validate.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { goPrint, goTypeName } from '../../api/codec/go-print.ts';
import type { FieldCause } from '../../api/status-error.ts';
import { appendAll } from '../../base/lists.ts';
import type { ValidateCustom } from './custom-strategy.ts';

/** Errors after which rules are not evaluated. */
const BLOCKING = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

const NOT_CHECKED =
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';

/** The validator of a version. Its rules are compiled for the first object, in steps. */
export function createCustomValidator(version: CustomResourceDefinitionVersion): ValidateCustom {
  const schema = version.schema?.openAPIV3Schema ?? {};
  const scale = version.subresources?.scale;
  let compiled: RuleSchema | undefined;
  return function* (object, old) {
    const errors = yield* validationSteps(schema, object, old === undefined ? undefined : { value: old });
    if (scale !== undefined) appendAll(errors, validateScale(scale, object));
    appendAll(errors, yield* objectRuleSteps(schema, object, old));
    const rules = (compiled ??= yield* compileRuleSteps(schema));
    if (!rules.hasRules) return errors;
    if (errors.some(({ reason }) => BLOCKING.has(reason))) return [...errors, invalidValue('<nil>', null, NOT_CHECKED)];
    const { errors: broken } = yield* ruleSteps(rules, { value: object, old }, Field.root());
    return [...errors, ...broken];
  };
}

const MAX_REPLICAS = 2 ** 31 - 1;

function validateScale(scale: CustomResourceSubresourceScale, object: KubernetesObject): FieldCause[] {
  const errors: FieldCause[] = [];
  for (const path of [scale.specReplicasPath, scale.statusReplicasPath]) {
    const [value] = findValues(parseJsonPath(path), object);
    if (value === undefined) continue;
    const isInteger = typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value));
    if (!isInteger) errors.push(invalidValue(path, 0, accessorError(path, value, 'int64')));
    else if (value < 0) errors.push(invalidValue(path, value, 'should be a non-negative integer'));
    else if (value > MAX_REPLICAS)
      errors.push(invalidValue(path, value, `should be less than or equal to ${MAX_REPLICAS}`));
  }
  const { labelSelectorPath = '' } = scale;
  const [selector] = labelSelectorPath === '' ? [] : findValues(parseJsonPath(labelSelectorPath), object);
  if (selector !== undefined && typeof selector !== 'string')
    errors.push(invalidValue(labelSelectorPath, '', accessorError(labelSelectorPath, selector, 'string')));
  return errors;
}

function accessorError(path: string, value: unknown, expected: string): string {
  const type = value === null ? '<nil>' : goTypeName(value);
  return `${path} accessor error: ${goPrint(value)} is of the type ${type}, expected ${expected}`;
}
