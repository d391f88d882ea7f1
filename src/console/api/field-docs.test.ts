import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FieldDocs } from './field-docs.ts';

const docs = new FieldDocs(
  {
    Spec: {
      type: 'object',
      description: 'The specification.',
      required: ['containers'],
      properties: {
        containers: {
          type: 'array',
          description: 'Its containers.',
          items: { allOf: [{ $ref: '#/components/schemas/io.x.Container' }], default: {} },
        },
        labels: { type: 'object', additionalProperties: { type: 'string', default: '' } },
        policy: { type: 'string', enum: ['A', 'B'], default: 'A' },
      },
    },
    'io.x.Container': {
      type: 'object',
      description: 'One container.',
      properties: { constructor: { type: 'string' }, name: { type: 'string', description: 'Its name.' } },
    },
  },
  {
    type: 'object',
    properties: {
      spec: { description: 'What should be.', allOf: [{ $ref: '#/components/schemas/Spec' }], default: {} },
    },
  },
);

test('a field has its own description before that of its type, and the fields of its type', () => {
  const spec = docs.at(['spec']);
  assert.equal(spec.description, 'What should be.');
  assert.deepEqual(
    spec.fields.map(({ name, type, required }) => [name, type, required]),
    [
      ['containers', '[]Container', true],
      ['labels', 'map[string]string', false],
      ['policy', 'string', false],
    ],
  );
});

test('lists have the fields of their items, maps accept any key, and enumerations and defaults are listed', () => {
  assert.deepEqual(
    docs.at(['spec', 'containers']).fields.map(({ name }) => name),
    ['constructor', 'name'],
  );
  assert.equal(docs.at(['spec', 'containers', '[]', 'name']).description, 'Its name.');
  assert.equal(docs.at(['spec', 'labels', 'app']).type, 'string');
  const policy = docs.at(['spec', 'policy']);
  assert.deepEqual([policy.values, policy.preset], [['A', 'B'], 'A']);
});

test('an undescribed field yields the nearest described one above it; names of inherited properties are no fields', () => {
  assert.deepEqual(docs.at(['spec', 'nothing', 'more']).path, ['spec']);
  assert.deepEqual(docs.at(['spec', 'toString']).path, ['spec']);
  assert.deepEqual(docs.at(['constructor']).path, []);
});
