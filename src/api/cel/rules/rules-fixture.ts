/** Definitions with rules, and functions that check and compile them for tests. */
import { Field } from '../../field-error.ts';
import type { JSONSchemaProps, ValidationRule } from '../../gen/apiextensions-v1.ts';
import { checkRules, checkRuleTexts } from './check-rules.ts';
import { validateOpenApiSchema } from '../../validation/open-api-schema.ts';
import { compileRuleSchema } from './rule-schema.ts';

export function crd(spec: JSONSchemaProps, ...rules: ValidationRule[]): JSONSchemaProps {
  return { type: 'object', 'x-kubernetes-validations': rules, properties: { spec } };
}

export function object(
  properties: Record<string, JSONSchemaProps>,
  ...rules: (ValidationRule | string)[]
): JSONSchemaProps {
  return {
    type: 'object',
    properties,
    'x-kubernetes-validations': rules.map((rule) => (typeof rule === 'string' ? { rule } : rule)),
  };
}

export const integer: JSONSchemaProps = { type: 'integer' };

export const text: JSONSchemaProps = { type: 'string' };

export function complaints(schema: JSONSchemaProps): string[] {
  const field = Field.named('spec.validation.openAPIV3Schema');
  validateOpenApiSchema(schema, field, checkRuleTexts);
  const faults = field.errors.map((error) => error.field);
  checkRules(compileRuleSchema(schema), field, faults);
  return field.errors.map((error) => `${error.field}: ${error.text}`);
}
