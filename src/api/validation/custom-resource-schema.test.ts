import type { CustomResourceDefinitionSpec, JSONSchemaProps } from '../gen/apiextensions-v1.ts';
import { testCases, version } from './definition-cases-fixture.ts';

function withSchema(x: JSONSchemaProps): Partial<CustomResourceDefinitionSpec> {
  const openAPIV3Schema: JSONSchemaProps = { type: 'object', properties: { x } };
  return { versions: [version({ schema: { openAPIV3Schema } })] };
}

function rooted(properties: Record<string, JSONSchemaProps>): Partial<CustomResourceDefinitionSpec> {
  return { versions: [version({ schema: { openAPIV3Schema: { type: 'object', properties } } })] };
}

const AT = 'spec.validation.openAPIV3Schema.properties[x]';
const keyed = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] };

testCases([
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
  ['an empty definitions', withSchema({ type: 'object', definitions: {} }), []],
  [
    'dependencies, though empty',
    withSchema({ type: 'object', dependencies: {} }),
    [`${AT}.dependencies: Forbidden: dependencies is not supported`],
  ],
  [
    'what is not supported at all leaves structure alone',
    withSchema({ id: 'a', $schema: 'b', properties: { k: {} } }),
    [`${AT}.id: Forbidden: id is not supported`],
  ],
  [
    'a schema that names a schema',
    withSchema({ type: 'object', $schema: 'b' }),
    ['spec.validation.openAPIV3Schema: Invalid value: "": OpenAPIV3Schema \'schema\' is not supported'],
  ],
  ['no additional properties', withSchema({ type: 'object', additionalProperties: false }), []],
  ['no additional properties in anyOf', withSchema({ type: 'object', anyOf: [{ additionalProperties: false }] }), []],
  ['documents in anyOf', withSchema({ type: 'object', anyOf: [{ externalDocs: { url: 'a' } }] }), []],
  [
    'integer or string without saying so',
    withSchema({ type: 'string', anyOf: [{ type: 'integer' }, { type: 'string' }] }),
    [],
  ],
  [
    'a map type',
    withSchema({ type: 'object', 'x-kubernetes-map-type': 'a' }),
    [`${AT}.x-kubernetes-map-type: Unsupported value: "a": supported values: "atomic", "granular"`],
  ],
  [
    'a set of granular objects',
    withSchema({ type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'object' } }),
    [
      `${AT}.items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set`,
    ],
  ],
  [
    'items of a keyed list that may be null',
    withSchema({
      type: 'array',
      ...keyed,
      items: { type: 'object', nullable: true, required: ['k'], properties: { k: { type: 'string' } } },
    }),
    [`${AT}.items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is map`],
  ],
  [
    'a key that is a list',
    withSchema({
      type: 'array',
      ...keyed,
      items: { type: 'object', required: ['k'], properties: { k: { type: 'object' } } },
    }),
    [
      `${AT}.items.properties[k].type: Invalid value: "object": must be a scalar type if parent array's x-kubernetes-list-type is map`,
    ],
  ],
  [
    'faults of structure are sorted',
    withSchema({ type: 'integer', 'x-kubernetes-embedded-resource': true }),
    [
      `${AT}.properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields`,
      `${AT}.type: Invalid value: "integer": must be object if x-kubernetes-embedded-resource is true`,
    ],
  ],
  [
    'a default with a field its schema does not know',
    withSchema({ type: 'object', properties: { a: { type: 'string' } }, default: { a: 'x', b: 1 } }),
    [`${AT}.default: Invalid value: {"a":"x","b":1}: must not have unknown fields`],
  ],
  [
    'a default that is no resource',
    withSchema({
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
      default: { apiVersion: '' },
    }),
    [`${AT}.default.apiVersion: Invalid value: "": must not be empty`, `${AT}.default.kind: Required value`],
  ],
  [
    'a default of an embedded name',
    withSchema({
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      properties: { metadata: { type: 'object', properties: { name: { type: 'string', default: 'a/b' } } } },
    }),
    [
      `${AT}.properties[metadata].properties[name].default: Invalid value: "a/b": must result in valid metadata: metadata.name: Invalid value: "a/b": may not contain '/'`,
    ],
  ],
  [
    'a default inside a default',
    withSchema({ type: 'object', properties: { a: { type: 'integer', maximum: 1, default: 2 } }, default: {} }),
    [`${AT}.properties[a].default: Invalid value: 2:  in body should be less than or equal to 1`],
  ],
  [
    'a default of the name',
    rooted({ metadata: { type: 'object', properties: { name: { type: 'string', default: 'a' } } } }),
    [
      'spec.validation.openAPIV3Schema.properties[metadata].properties[name].default: Forbidden: must not be set in top-level metadata',
    ],
  ],
  [
    'defaults and fields that are preserved',
    { preserveUnknownFields: true, ...withSchema({ type: 'string', default: 'a' }) },
    [
      'spec.preserveUnknownFields: Invalid value: true: must be false in order to use defaults in the schema',
      'spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
    ],
  ],
  [
    'texts of rules',
    withSchema({
      type: 'object',
      properties: { a: { type: 'string' } },
      'x-kubernetes-validations': [
        { rule: 'true', message: 'a\nb', reason: 'Nope', fieldPath: '.b' },
        { rule: 'true', message: ' ', fieldPath: ' ' },
        { rule: ' ', messageExpression: ' ', fieldPath: ".['a'" },
      ],
    }),
    [
      `${AT}.x-kubernetes-validations[0].message: Invalid value: "a\\nb": must not contain line breaks`,
      `${AT}.x-kubernetes-validations[0].reason: Unsupported value: "Nope": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"`,
      `${AT}.x-kubernetes-validations[0].fieldPath: Invalid value: ".b": must be a valid path`,
      `${AT}.x-kubernetes-validations[1].message: Invalid value: " ": must be non-empty if specified`,
      `${AT}.x-kubernetes-validations[1].fieldPath: Invalid value: " ": must be non-empty if specified`,
      `${AT}.x-kubernetes-validations[1].fieldPath: Invalid value: " ": must be a valid path`,
      `${AT}.x-kubernetes-validations[2].rule: Required value: rule is not specified`,
      `${AT}.x-kubernetes-validations[2].messageExpression: Required value: messageExpression must be non-empty if specified`,
      `${AT}.x-kubernetes-validations[2].fieldPath: Invalid value: ".['a'": must be a valid path`,
    ],
  ],
]);
