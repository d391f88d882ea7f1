import assert from 'node:assert/strict';
import { test } from 'node:test';
import { schemaOf, typeSchema } from '../schema/schema.ts';
import type { StructSchema } from '../schema/type-schema.ts';
import { parseJson } from './json.ts';
import { decodeTyped, type DecodeOptions } from './typed.ts';

const schema = (group: string, version: string, kind: string): StructSchema => {
  const found = schemaOf(group, version, kind);
  assert.ok(found);
  return found;
};
const deployment = schema('apps', 'v1', 'Deployment');
const pod = schema('', 'v1', 'Pod');

function decode(text: string, options: DecodeOptions = {}, kind = deployment): ReturnType<typeof decodeTyped> {
  const { value, duplicates } = parseJson(text);
  return decodeTyped(kind, value, { duplicates, ...options });
}

test('unknown and duplicate fields are refused, warned of or ignored by the field validation', () => {
  const text =
    '{"spec":{"foo":1,"replicas":1,"replicas":2,"template":{"spec":{"containers":[{"name":"a","nope":1}]}}},"bar":1}';
  const messages = [
    'duplicate field "spec.replicas"',
    'unknown field "spec.foo"',
    'unknown field "spec.template.spec.containers[0].nope"',
    'unknown field "bar"',
  ];
  assert.throws(() => decode(text, { mode: 'Strict' }), { message: `strict decoding error: ${messages.join(', ')}` });
  assert.deepEqual(decode(text, { mode: 'Warn' }).warnings, messages);
  const { object, warnings } = decode(text);
  assert.deepEqual(warnings, []);
  assert.equal('foo' in (object['spec'] as object), false);
  assert.equal((object['spec'] as { replicas: number }).replicas, 2);
});

test('field names are case-sensitive', () => {
  assert.deepEqual(decode('{"Spec":{}}', { mode: 'Warn' }).warnings, ['unknown field "Spec"']);
});

test("type mismatches have upstream's texts", () => {
  const cases: [string, string][] = [
    [
      '{"spec":{"replicas":"3"}}',
      'json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      '{"spec":{"replicas":1.5}}',
      'json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      '{"spec":{"replicas":99999999999}}',
      'json: cannot unmarshal number 99999999999 into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      '{"spec":{"template":{"spec":{"containers":[{"name":5}]}}}}',
      'json: cannot unmarshal number into Go struct field Container.spec.template.spec.containers.name of type string',
    ],
    [
      '{"spec":{"template":{"spec":{"containers":{}}}}}',
      'json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container',
    ],
    ['{"spec":[]}', 'json: cannot unmarshal array into Go struct field Deployment.spec of type v1.DeploymentSpec'],
    [
      '{"metadata":{"labels":{"a":1}}}',
      'json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string',
    ],
    [
      '{"spec":{"template":{"spec":{"volumes":[{"emptyDir":1}]}}}}',
      'json: cannot unmarshal number into Go struct field Volume.spec.template.spec.volumes.VolumeSource.emptyDir of type v1.EmptyDirVolumeSource',
    ],
    [
      '{"spec":{"template":{"spec":{"containers":[{"livenessProbe":{"exec":{"command":1}}}]}}}}',
      'json: cannot unmarshal number into Go struct field ExecAction.spec.template.spec.containers.livenessProbe.ProbeHandler.exec.command of type []string',
    ],
    ['[]', 'json: cannot unmarshal array into Go value of type v1.Deployment'],
    [
      '{"spec":{"template":{"spec":{"containers":[{"resources":{"limits":{"cpu":"x"}}}]}}}}',
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ],
  ];
  for (const [text, message] of cases) assert.throws(() => decode(text), { name: 'DecodeError', message }, text);
  assert.throws(() => decode('{"data":{"a":"!"}}', {}, schema('', 'v1', 'Secret')), {
    message: 'illegal base64 data at input byte 0',
  });
});

test('zero values are kept behind pointers, dropped by omitempty, and written where Go always writes them', () => {
  const { object } = decode(
    '{"spec":{"replicas":0,"paused":false,"minReadySeconds":0,"template":{"spec":{"containers":[{"stdin":false,"image":""}]}}}}',
  );
  assert.deepEqual(object, {
    spec: {
      replicas: 0,
      template: { spec: { containers: [{ name: '', resources: {} }] }, metadata: {} },
      strategy: {},
    },
    metadata: {},
    status: {},
  });
});

test('the sparse shape keeps present values, zeros too, and adds none', () => {
  const text = '{"spec":{"replicas":0,"paused":false,"template":null}}';
  assert.deepEqual(decode(text, { shape: 'sparse' }).object, JSON.parse(text));
});

test('null is decoded as absence; null elements become zero values', () => {
  const { object } = decode('{"metadata":{"labels":{"a":null},"finalizers":[null]},"spec":null}', {}, pod);
  assert.deepEqual(object['metadata'], { labels: { a: '' }, finalizers: [''] });
  assert.deepEqual(object['spec'], { containers: [] });
});

test('quantities and times are canonical, and prototypes stay untouched', () => {
  const { object } = decode(
    '{"metadata":{"creationTimestamp":"2020-01-01T01:00:00.5+01:00","annotations":{"__proto__":"x"}},"spec":{"containers":[{"name":"a","resources":{"requests":{"cpu":0.5,"memory":"1024Mi"}}}]}}',
    {},
    pod,
  );
  const meta = object['metadata'] as { creationTimestamp: string; annotations: object };
  assert.equal(meta.creationTimestamp, '2020-01-01T00:00:00Z');
  assert.deepEqual(Object.getOwnPropertyNames(meta.annotations), ['__proto__']);
  const [container] = (object['spec'] as { containers: { resources: object }[] }).containers;
  assert.deepEqual(container?.resources, { requests: { cpu: '500m', memory: '1Gi' } });
});

test('a long integer stays exact in an int64 field', () => {
  const { object } = decode('{"metadata":{"generation":9007199254740993}}', {}, pod);
  assert.equal((object['metadata'] as { generation: bigint }).generation, 9007199254740993n);
});

test('the schema inside a CRD keeps its unions and is pruned without warnings', () => {
  const text =
    '{"spec":{"versions":[{"name":"v1","schema":{"openAPIV3Schema":{"type":"object","additionalProperties":true,"items":{"type":"string","nope":1}}}}]}}';
  const { object, warnings } = decode(
    text,
    { mode: 'Warn' },
    schema('apiextensions.k8s.io', 'v1', 'CustomResourceDefinition'),
  );
  assert.deepEqual(warnings, []);
  const [version] = (object['spec'] as { versions: { schema: { openAPIV3Schema: unknown } }[] }).versions;
  assert.deepEqual(version?.schema.openAPIV3Schema, {
    type: 'object',
    additionalProperties: true,
    items: { type: 'string' },
  });
});

test('the input is not changed, and decoding is idempotent', () => {
  const input = JSON.parse('{"spec":{"template":{"spec":{"containers":[{"name":"a"}]}}}}') as unknown;
  const before = structuredClone(input);
  const once = decodeTyped(deployment, input).object;
  assert.deepEqual(input, before);
  assert.deepEqual(decodeTyped(deployment, once).object, once);
});

test('a union of a CRD schema holds one of its forms', () => {
  const crd = schema('apiextensions.k8s.io', 'v1', 'CustomResourceDefinition');
  const decoded = (part: string): unknown => {
    const text = `{"spec":{"versions":[{"schema":{"openAPIV3Schema":${part}}}]}}`;
    const { spec } = decode(text, {}, crd).object as { spec: { versions: [{ schema: { openAPIV3Schema: unknown } }] } };
    return spec.versions[0].schema.openAPIV3Schema;
  };
  for (const wrong of ['[null]', '[{}]', '"a"', '1'])
    assert.throws(() => decoded(`{"additionalProperties":${wrong}}`), { message: 'boolean or JSON schema expected' });
  assert.deepEqual(decoded('{"items":[null,{"type":"string"}]}'), { items: [{}, { type: 'string' }] });
  for (const wrong of ['"a"', '1', 'true']) {
    assert.deepEqual(decoded(`{"items":${wrong}}`), {});
    assert.deepEqual(decoded(`{"dependencies":{"a":${wrong}},"type":"object"}`), { type: 'object' });
  }
  assert.deepEqual(decoded('{"dependencies":{"a":["b",null]}}'), { dependencies: { a: ['b', ''] } });
  for (const wrong of ['{"items":[1]}', '{"items":[[]]}', '{"dependencies":{"a":[1]}}'])
    assert.throws(() => decoded(wrong), /^DecodeError: json: cannot unmarshal/);
  assert.deepEqual(decoded('{"properties":{"a":null},"allOf":[null],"not":null}'), {
    properties: { a: {} },
    allOf: [{}],
  });
});

test('long lists share their items with a known object in linear time', () => {
  const schema = typeSchema('core.v1.PodSpec') as StructSchema;
  const tolerations = Array.from({ length: 100_000 }, (_, at) => ({ key: `k${at}` }));
  const reversed = tolerations.toReversed();
  const { object } = decodeTyped(schema, { containers: [], tolerations: reversed }, { known: { tolerations } });
  assert.equal((object['tolerations'] as unknown[])[0], tolerations.at(-1));
});
