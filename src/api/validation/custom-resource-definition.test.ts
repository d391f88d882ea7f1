import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Field } from '../field-error.ts';
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
  JSONSchemaProps,
} from '../gen/apiextensions-v1.ts';
import {
  validateCustomResourceDefinition,
  validateCustomResourceDefinitionUpdate,
} from './custom-resource-definition.ts';

function definition(spec: Partial<CustomResourceDefinitionSpec>): CustomResourceDefinition {
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

function version(more: Partial<CustomResourceDefinitionVersion>): CustomResourceDefinitionVersion {
  return { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } }, ...more };
}

function withSchema(x: JSONSchemaProps): Partial<CustomResourceDefinitionSpec> {
  const openAPIV3Schema: JSONSchemaProps = { type: 'object', properties: { x } };
  return { versions: [version({ schema: { openAPIV3Schema } })] };
}

function faults(of: CustomResourceDefinition): string[] {
  const field = Field.root();
  validateCustomResourceDefinition(of, field, () => undefined);
  return field.errors.map(({ field: path, text }) => `${path}: ${text}`);
}

const AT = 'spec.validation.openAPIV3Schema.properties[x]';
const keyed = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] };

const cases: [string, Partial<CustomResourceDefinitionSpec>, string[]][] = [
  ['a sound definition', {}, []],
  [
    'no group',
    { group: '' },
    [
      'metadata.name: Invalid value: "widgets.example.com": must be spec.names.plural+"."+spec.group',
      'spec.group: Required value',
    ],
  ],
  [
    'scope',
    { scope: 'Galaxy' },
    ['spec.scope: Unsupported value: "Galaxy": supported values: "Cluster", "Namespaced"'],
  ],
  [
    'kind is listKind',
    { names: { plural: 'widgets', singular: 'widget', kind: 'W', listKind: 'W' } },
    ['spec.names.listKind: Invalid value: "W": kind and listKind may not be the same'],
  ],
  [
    'no schema',
    { versions: [{ name: 'v1', served: true, storage: true }] },
    ['spec.versions[0].schema.openAPIV3Schema: Required value'],
  ],
  [
    'root type',
    { versions: [version({ schema: { openAPIV3Schema: {} } })] },
    ['spec.validation.openAPIV3Schema.type: Required value: must not be empty at the root'],
  ],
  ['no type of a field', withSchema({}), [`${AT}.type: Required value: must not be empty for specified object fields`]],
  ['an array without items', withSchema({ type: 'array' }), [`${AT}.items: Required value: must be specified`]],
  [
    'an unknown type',
    withSchema({ type: 'thing' }),
    [
      `${AT}.type: Unsupported value: "thing": supported values: "array", "boolean", "integer", "number", "object", "string"`,
    ],
  ],
  ['$ref', withSchema({ type: 'object', $ref: '#' }), [`${AT}.$ref: Forbidden: $ref is not supported`]],
  [
    'uniqueItems',
    withSchema({ type: 'array', uniqueItems: true, items: { type: 'string' } }),
    [`${AT}.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic`],
  ],
  [
    'map and struct',
    withSchema({ type: 'object', properties: { a: { type: 'string' } }, additionalProperties: { type: 'string' } }),
    [`${AT}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive`],
  ],
  [
    'a type in anyOf',
    withSchema({ type: 'string', anyOf: [{ type: 'string' }] }),
    [`${AT}.anyOf[0].type: Forbidden: must be empty to be structural`],
  ],
  [
    'int or string the usual way',
    withSchema({ 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }], pattern: '^a' }),
    [],
  ],
  ...['integer', 'string', 'object'].map((type): [string, object, string[]] => [
    `int or string beside the type ${type}`,
    withSchema({ type, 'x-kubernetes-int-or-string': true, pattern: '^.*' }),
    [],
  ]),
  [
    'an incomplete structure',
    {
      versions: [
        version({
          schema: {
            openAPIV3Schema: { type: 'object', oneOf: [{ required: ['a'], properties: { a: { minLength: 1 } } }] },
          },
        }),
      ],
    },
    [
      'spec.validation.openAPIV3Schema.properties[a]: Required value: because it is defined in spec.validation.openAPIV3Schema.oneOf[0].properties[a]',
    ],
  ],
  [
    'a bad pattern',
    withSchema({ type: 'string', pattern: '(' }),
    [
      `${AT}.pattern: Invalid value: "(": must be a valid regular expression, but isn't: error parsing regexp: missing closing ): \`(\``,
    ],
  ],
  [
    'a key that may be absent',
    withSchema({ type: 'array', ...keyed, items: { type: 'object', properties: { k: { type: 'string' } } } }),
    [
      `${AT}.items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property`,
    ],
  ],
  [
    'a bad default',
    withSchema({ type: 'integer', default: 'a' }),
    [`${AT}.default: Invalid value: "string":  in body must be of type integer: "string"`],
  ],
  [
    'a column',
    { versions: [version({ additionalPrinterColumns: [{ name: 'A', type: 'text', jsonPath: 'x' }] })] },
    [
      'spec.additionalPrinterColumns[0].type: Invalid value: "text": must be one of boolean,date,integer,number,string',
      'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "x": must be a simple json path starting with .',
    ],
  ],
  [
    'a scale',
    { versions: [version({ subresources: { scale: { specReplicasPath: '.status.x', statusReplicasPath: '' } } })] },
    [
      'spec.subresources.scale.statusReplicasPath: Required value',
      'spec.subresources.scale.specReplicasPath: Invalid value: ".status.x": should be a json path under .spec',
    ],
  ],
  [
    'a conversion',
    { conversion: { strategy: 'Webhook' } },
    [
      'spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook',
      'spec.conversion.conversionReviewVersions: Required value',
    ],
  ],
  [
    'preserving',
    { preserveUnknownFields: true },
    [
      'spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
    ],
  ],
];

for (const [name, spec, expected] of cases) test(name, () => assert.deepEqual(faults(definition(spec)), expected));

test('one version is stored, names are unique', () => {
  const [none, twice] = faults(definition({ versions: [version({ storage: false }), version({ storage: false })] }));
  assert.match(none!, /^spec\.versions: Invalid value: .*: must contain unique version names$/);
  assert.match(twice!, /^spec\.versions: Invalid value: .*: must have exactly one version marked as storage version$/);
});

test('groups of the community need approval', () => {
  const of = definition({ group: 'x.k8s.io' });
  of.metadata.name = 'widgets.x.k8s.io';
  assert.match(
    faults(of).join(),
    /api-approved\.kubernetes\.io\]: Required value: protected groups must have approval/,
  );
  of.metadata.annotations = { 'api-approved.kubernetes.io': 'https://github.com/kubernetes/kubernetes/pull/1' };
  assert.deepEqual(faults(of), []);
});

test('what is established keeps its scope and kind, and its stored versions', () => {
  const old = definition({});
  old.status = { storedVersions: ['v1'], conditions: [{ type: 'Established', status: 'True' }] };
  const next = definition({ scope: 'Cluster', versions: [version({ name: 'v2' })] });
  const field = Field.root();
  validateCustomResourceDefinitionUpdate(next, { old, field }, () => undefined);
  assert.deepEqual(
    field.errors.map((error) => `${error.field}: ${error.text.slice(0, 60)}`),
    [
      'spec.scope: Invalid value: "Cluster": field is immutable',
      'status.storedVersions: Invalid value: ["v1"]: must have the storage version v2',
      'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was prev',
    ],
  );
});
