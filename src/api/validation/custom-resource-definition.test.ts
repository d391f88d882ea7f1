import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Field } from '../field-error.ts';
import { validateCustomResourceDefinitionUpdate } from './custom-resource-definition.ts';
import { definition, faults, NO_RULES, testCases, version } from './definition-cases-fixture.ts';

testCases([
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
      'spec.subresources.scale.specReplicasPath: Invalid value: ".status.x": should be a json path under .spec',
      'spec.subresources.scale.statusReplicasPath: Required value',
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
    'at the root beside a status, pointers count though they are empty',
    {
      versions: [
        version({ subresources: { status: {} }, schema: { openAPIV3Schema: { type: 'object', definitions: {} } } }),
      ],
    },
    [
      /^spec\.validation\.openAPIV3Schema: Invalid value: .*: only \[Description Type .*\] fields are allowed at the root/,
    ],
  ],
  [
    'selectable fields',
    {
      versions: [
        version({
          schema: {
            openAPIV3Schema: { type: 'object', properties: { metadata: { type: 'object' }, a: { type: 'string' } } },
          },
          selectableFields: [
            { jsonPath: 'AAA' },
            { jsonPath: ".['a']" },
            { jsonPath: '.b' },
            { jsonPath: '.metadata' },
            { jsonPath: '.a' },
            { jsonPath: '.a' },
          ],
        }),
      ],
    },
    [
      'spec.selectableFields[0].jsonPath: Invalid value: "AAA": is an invalid path: expected [ or . but got: AAA',
      'spec.selectableFields[1].jsonPath: Invalid value: ".[\'a\']": is an invalid path: does not refer to a valid field',
      'spec.selectableFields[2].jsonPath: Invalid value: ".b": is an invalid path: does not refer to a valid field',
      'spec.selectableFields[3].jsonPath: Invalid value: ".metadata": must not point to fields in metadata',
      'spec.selectableFields[3].jsonPath: Invalid value: ".metadata": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
      'spec.selectableFields[5].jsonPath: Duplicate value: ".a"',
    ],
  ],
  [
    'versions of conversion reviews',
    {
      conversion: {
        strategy: 'Webhook',
        webhook: { clientConfig: { url: 'https://a.b/c' }, conversionReviewVersions: ['v2', 'v2', 'A'] },
      },
    },
    [
      'spec.conversion.conversionReviewVersions[1]: Invalid value: "v2": duplicate version',
      /^spec\.conversion\.conversionReviewVersions\[2\]: Invalid value: "A": a DNS-1035 label/,
      'spec.conversion.conversionReviewVersions: Invalid value: ["v2","v2","A"]: must include at least one of v1, v1beta1',
    ],
  ],
  [
    'preserving',
    { preserveUnknownFields: true },
    [
      'spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
    ],
  ],
]);

test('exactly one version is stored, and names of versions are unique', () => {
  const [none, twice] = faults(definition({ versions: [version({ storage: false }), version({ storage: false })] }));
  assert.match(none!, /^spec\.versions: Invalid value: .*: must contain unique version names$/);
  assert.match(twice!, /^spec\.versions: Invalid value: .*: must have exactly one version marked as storage version$/);
});

test('definitions in groups of the community need an approval', () => {
  const of = definition({ group: 'x.k8s.io' });
  of.metadata.name = 'widgets.x.k8s.io';
  assert.match(
    faults(of).join(),
    /api-approved\.kubernetes\.io\]: Required value: protected groups must have approval/,
  );
  of.metadata.annotations = { 'api-approved.kubernetes.io': 'https://github.com/kubernetes/kubernetes/pull/1' };
  assert.deepEqual(faults(of), []);
});

test('an established definition keeps its scope, kind and stored versions', () => {
  const old = definition({});
  old.status = { storedVersions: ['v1'], conditions: [{ type: 'Established', status: 'True' }] };
  const next = definition({ scope: 'Cluster', versions: [version({ name: 'v2' })] });
  const field = Field.root();
  validateCustomResourceDefinitionUpdate(next, { old, field }, NO_RULES);
  assert.deepEqual(
    field.errors.map((error) => `${error.field}: ${error.text.slice(0, 60)}`),
    [
      'spec.scope: Invalid value: "Cluster": field is immutable',
      'status.storedVersions: Invalid value: ["v1"]: must have the storage version v2',
      'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was prev',
    ],
  );
});
