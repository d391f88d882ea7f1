/**
 * Limits the rules and patterns of a definition, because other requests wait while they are compiled. Upstream has threads and no
 * such limits.
 */
import type { Field } from '../field-error.ts';
import type { CustomResourceDefinition, JSONSchemaProps } from '../gen/apiextensions-v1.ts';
import { compileSize } from '../re2-compile-size.ts';
import { appendAll } from '../../base/lists.ts';

/** The limit of rules in all versions together. Large definitions of known projects have some hundreds. */
export const MAX_RULES = 2000;
/** The limit of characters of all rules and their message expressions together. */
export const MAX_RULE_LENGTH = 256 * 1024;
/** The limit of all distinct patterns together, in instructions by the time that they take to compile. */
export const MAX_PATTERN_SIZE = 100_000;

/** Returns false and adds an error for a definition that would take too long to compile. */
export function validateDefinitionBudget({ spec }: CustomResourceDefinition, field: Field): boolean {
  const count = new Count();
  for (const { schema } of spec.versions ?? []) if (schema?.openAPIV3Schema) count.visit(schema.openAPIV3Schema);
  const faults = [
    count.rules > MAX_RULES && `must have at most ${MAX_RULES} validation rules`,
    count.ruleLength > MAX_RULE_LENGTH && `must have at most ${MAX_RULE_LENGTH} characters of validation rules`,
    count.patternSize() > MAX_PATTERN_SIZE && 'the regular expressions of all patterns together are too large',
  ].filter((fault) => fault !== false);
  for (const fault of faults) field.forbidden(fault);
  return faults.length === 0;
}

class Count {
  rules = 0;
  ruleLength = 0;
  readonly #patterns = new Set<string>();

  visit(schema: JSONSchemaProps): void {
    for (const { rule = '', messageExpression = '' } of schema['x-kubernetes-validations'] ?? []) {
      this.rules++;
      this.ruleLength += rule.length + messageExpression.length;
    }
    if (schema.pattern !== undefined) this.#patterns.add(schema.pattern);
    for (const part of partsOf(schema)) this.visit(part);
  }

  patternSize(): number {
    let size = 0;
    for (const pattern of this.#patterns) size += compileSize(pattern);
    return size;
  }
}

/** The schemas directly inside of one. */
export function partsOf(schema: JSONSchemaProps): JSONSchemaProps[] {
  const { properties = {}, items, additionalProperties, not, allOf = [], anyOf = [], oneOf = [] } = schema;
  const parts = [...Object.values(properties), ...allOf, ...anyOf, ...oneOf];
  for (const part of [items, additionalProperties, not])
    if (Array.isArray(part)) appendAll(parts, part);
    else if (typeof part === 'object') parts.push(part);
  return parts;
}
