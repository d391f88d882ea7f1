/** Definitions of custom resources, and what validation says of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Field } from '../field-error.ts';
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
} from '../gen/apiextensions-v1.ts';
import { validateCustomResourceDefinition } from './custom-resource-definition.ts';
import type { SchemaRules } from './custom-resource-version.ts';

/** A name, the fields that differ from a sound definition, and the errors. */
export type DefinitionCase = [string, Partial<CustomResourceDefinitionSpec>, (string | RegExp)[]];

export const NO_RULES: SchemaRules = { checkDefaults: () => undefined, checkRules: () => undefined };

export function definition(spec: Partial<CustomResourceDefinitionSpec>): CustomResourceDefinition {
  return {
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      versions: [version({})],
      ...spec,
    },
    status: { storedVersions: ['v1'] },
  };
}

export function version(more: Partial<CustomResourceDefinitionVersion>): CustomResourceDefinitionVersion {
  return { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } }, ...more };
}

export function faults(of: CustomResourceDefinition): string[] {
  const field = Field.root();
  validateCustomResourceDefinition(of, field, NO_RULES);
  return field.errors.map(({ field: path, text }) => `${path}: ${text}`);
}

export function testCases(cases: readonly DefinitionCase[]): void {
  for (const [name, spec, expected] of cases)
    test(name, () => {
      const found = faults(definition(spec));
      const shown = found.map((text, at) => {
        const wanted = expected[at];
        return wanted instanceof RegExp && wanted.test(text) ? wanted : text;
      });
      assert.deepEqual(shown, expected);
    });
}
