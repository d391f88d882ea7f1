/** Definitions as they are written: rules and defaults of their schemas, warnings. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JSONSchemaProps } from '../../api/gen/apiextensions-v1.ts';
import { DEFINITIONS, settle, startCustomServer, widgetDefinition } from './custom-fixture.ts';

const SPEC = 'spec.validation.openAPIV3Schema.properties[spec]';

async function faults(spec: JSONSchemaProps): Promise<string[]> {
  const { send } = await startCustomServer();
  const { status, body } = await send('POST', DEFINITIONS, widgetDefinition(spec));
  if (status === 201) return [];
  return body.details.causes.map((cause: { field: string; message: string }) => `${cause.field}: ${cause.message}`);
}

const size = (more: JSONSchemaProps): JSONSchemaProps => ({
  type: 'object',
  properties: { size: { type: 'integer', ...more } },
});

test('a default keeps the rules of its schema, those of changes too', async () => {
  const place = `${SPEC}.properties[size].default`;
  const rule = (text: string, more: object = {}): JSONSchemaProps =>
    size({ default: 5, 'x-kubernetes-validations': [{ rule: text, ...more }] });
  assert.deepEqual(await faults(rule('self == 5')), []);
  assert.deepEqual(await faults(rule('self < 5')), [`${place}: Invalid value: 5: failed rule: self < 5`]);
  assert.deepEqual(await faults(rule('self == oldSelf')), []);
  assert.deepEqual(await faults(rule('oldSelf.hasValue()', { optionalOldSelf: true })), [
    `${place}: Invalid value: 5: failed rule: oldSelf.hasValue()`,
  ]);
  const [broken, ...others] = await faults(rule('nope'));
  assert.match(
    broken!,
    /default: Invalid value: "integer": rule compile error: compilation failed: .*undeclared reference/,
  );
  assert.deepEqual(others, [], 'rules are compiled once the defaults are sound');
});

test('rules are compiled at each place whose schema is sound, inside out', async () => {
  const found = await faults({
    type: 'object',
    'x-kubernetes-validations': [{ rule: 'self.nope' }],
    properties: {
      sound: { type: 'string', 'x-kubernetes-validations': [{ rule: 'nope' }] },
      unsound: { type: 'string', 'x-kubernetes-map-type': 'atomic', 'x-kubernetes-validations': [{ rule: 'nope' }] },
    },
  });
  assert.deepEqual(
    found.map((fault) => fault.slice(SPEC.length, SPEC.length + 60)),
    [
      '.properties[unsound].type: Invalid value: "string": must be ',
      '.properties[sound].x-kubernetes-validations[0].rule: Invalid',
    ],
  );
});

test('a cost slightly above the limit is shown exactly', async () => {
  const [cost] = await faults({
    type: 'object',
    properties: {
      list: {
        type: 'array',
        maxItems: 900,
        items: { type: 'string', maxLength: 20 },
        'x-kubernetes-validations': [{ rule: 'self.all(a, self.exists(b, a != b && a != "c"))' }],
      },
    },
  });
  assert.match(cost!, /rule: Forbidden: estimated rule cost exceeds budget by factor of 1\.\d{6}x/);
});

test('formats that are not checked are warned of once, on updates the new ones', async () => {
  const { send } = await startCustomServer();
  const spec = (...formats: string[]): JSONSchemaProps => ({
    type: 'object',
    properties: Object.fromEntries(formats.map((format, index) => [`f${index}`, { type: 'string', format }])),
  });
  const made = await send('POST', DEFINITIONS, widgetDefinition(spec('date-time', 'int32', 'nope', 'nope')));
  assert.deepEqual(made.headers['warning'], [
    '299 - "unrecognized format \\"int32\\""',
    '299 - "unrecognized format \\"nope\\""',
  ]);
  await settle();
  const { metadata } = (await send('GET', `${DEFINITIONS}/widgets.example.com`)).body;
  const definition = { ...widgetDefinition(spec('int32', 'other')), metadata };
  const changed = await send('PUT', `${DEFINITIONS}/widgets.example.com`, definition);
  assert.equal(changed.status, 200, changed.text);
  assert.deepEqual(changed.headers['warning'], ['299 - "unrecognized format \\"other\\""']);
});

test('the status that the server writes has an entry of its own, as with upstream', async () => {
  const { send } = await startCustomServer();
  await send('POST', DEFINITIONS, widgetDefinition({ type: 'object' }));
  await settle();
  const { metadata } = (await send('GET', `${DEFINITIONS}/widgets.example.com`)).body;
  const entry = metadata.managedFields.find(({ manager }: { manager: string }) => manager === 'kube-apiserver');
  const { time, fieldsV1, ...rest } = entry;
  assert.ok(time);
  assert.deepEqual(rest, {
    manager: 'kube-apiserver',
    operation: 'Update',
    apiVersion: 'apiextensions.k8s.io/v1',
    fieldsType: 'FieldsV1',
    subresource: 'status',
  });
  const condition = { '.': {}, ...Object.fromEntries(fieldsOf('lastTransitionTime message reason status type')) };
  assert.deepEqual(fieldsV1, {
    'f:status': {
      'f:acceptedNames': Object.fromEntries(fieldsOf('categories kind listKind plural shortNames singular')),
      'f:conditions': { 'k:{"type":"Established"}': condition, 'k:{"type":"NamesAccepted"}': condition },
    },
  });
});

function fieldsOf(names: string): [string, object][] {
  return names.split(' ').map((name) => [`f:${name}`, {}]);
}
