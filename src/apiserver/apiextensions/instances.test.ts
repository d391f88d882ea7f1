/** Processing of instances: validation, rules, pruning, defaults, generation, scale, tables, warnings. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JSONSchemaProps } from '../../api/gen/apiextensions-v1.ts';
import {
  DEFINITIONS,
  settle,
  startCustomServer,
  startWithWidgets,
  versionOf,
  widget,
  WIDGETS,
  widgetDefinition,
} from './custom-fixture.ts';

const merge = { 'content-type': 'application/merge-patch+json' };

test('rules in CEL are checked with the definition and judged with each instance', async () => {
  const spec: JSONSchemaProps = {
    type: 'object',
    properties: { min: { type: 'integer' }, max: { type: 'integer' }, fixed: { type: 'string', maxLength: 10 } },
    'x-kubernetes-validations': [
      { rule: 'self.min <= self.max', messageExpression: "'min is above %d'.format([self.max])" },
      { rule: '!has(oldSelf.fixed) || self.fixed == oldSelf.fixed', message: 'fixed may not change' },
    ],
  };
  const { send } = await startWithWidgets(spec);
  const bad = await send('POST', WIDGETS, widget('a', { min: 3, max: 2 }));
  assert.deepEqual(
    [bad.status, bad.body.message],
    [422, 'Widget.example.com "a" is invalid: spec: Invalid value: min is above 2'],
  );
  assert.equal((await send('POST', WIDGETS, widget('a', { min: 1, max: 2, fixed: 'x' }))).status, 201);
  const changed = await send('PATCH', `${WIDGETS}/a`, { spec: { fixed: 'y' } }, merge);
  assert.match(changed.body.message, /spec: Invalid value: fixed may not change$/);
  const both = await send('POST', WIDGETS, widget('b', { min: 'x', max: 2 }));
  assert.match(
    both.body.message,
    /<nil>: Invalid value: null: some validation rules were not checked because the object/,
  );
  const { status, text } = await send('POST', DEFINITIONS, {
    ...widgetDefinition(
      { type: 'object', 'x-kubernetes-validations': [{ rule: 'self.nope' }] },
      { names: { plural: 'others', kind: 'Other' } },
    ),
    metadata: { name: 'others.example.com' },
  });
  assert.equal(status, 422);
  assert.match(text, /x-kubernetes-validations\[0\]\.rule: Invalid value: .*undefined field 'nope'/);
});

test('generation follows everything but metadata, and the status where that is written apart', async () => {
  const spec = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const status = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const openAPIV3Schema = { type: 'object', properties: { spec, status, data: { type: 'string' } } };
  for (const apart of [true, false]) {
    const versions = [versionOf('v1', {}, { schema: { openAPIV3Schema }, subresources: apart ? { status: {} } : {} })];
    const { send } = await startWithWidgets({}, { versions });
    const created = await send('POST', WIDGETS, widget('a', {}, { status: { x: 1 } }));
    assert.deepEqual(created.body.status, apart ? undefined : { x: 1 });
    const generations: number[] = [created.body.metadata.generation];
    for (const patch of [{ metadata: { labels: { a: 'b' } } }, { data: 'x' }, { status: { x: 2 } }, { spec: { y: 1 } }])
      generations.push((await send('PATCH', `${WIDGETS}/a`, patch, merge)).body.metadata.generation);
    assert.deepEqual(generations, apart ? [1, 1, 2, 2, 3] : [1, 1, 2, 3, 4]);
    const sub = await send(
      'PATCH',
      `${WIDGETS}/a/status`,
      { status: { x: 3 }, spec: { y: 9 }, metadata: { labels: { a: 'c' } } },
      merge,
    );
    if (!apart) assert.equal(sub.status, 404);
    else assert.deepEqual([sub.body.status, sub.body.spec, sub.body.metadata.labels], [{ x: 3 }, { y: 1 }, { a: 'b' }]);
  }
});

test('unknown and duplicate fields by fieldValidation; protobuf is refused', async () => {
  const { send } = await startWithWidgets({ type: 'object', properties: { a: { type: 'string' } } });
  const text =
    '{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","nope":1},"spec":{"a":"x","a":"y","b":1}}';
  const strict = await send('POST', `${WIDGETS}?fieldValidation=Strict`, text);
  assert.equal(
    strict.body.message,
    'Widget in version "v1" cannot be handled as a Widget: strict decoding error: duplicate field "spec.a", unknown field "metadata.nope", unknown field "spec.b"',
  );
  const warned = await send('POST', WIDGETS, text);
  assert.deepEqual(warned.headers['warning'], [
    '299 - "duplicate field \\"spec.a\\""',
    '299 - "unknown field \\"metadata.nope\\""',
    '299 - "unknown field \\"spec.b\\""',
  ]);
  assert.deepEqual(warned.body.spec, { a: 'y' });
  const protobuf = await send('POST', WIDGETS, text, { 'content-type': 'application/vnd.kubernetes.protobuf' });
  assert.equal(protobuf.status, 415);
});

test('fields of an object at a scalar are unknown, as in v1.36.2', async () => {
  const object: JSONSchemaProps = { type: 'object', properties: { k: { type: 'string' } } };
  const { send } = await startWithWidgets({
    type: 'object',
    properties: {
      l: { type: 'array', items: { type: 'string' } },
      lo: { type: 'array', items: object },
      s: { type: 'string' },
      i: { 'x-kubernetes-int-or-string': true },
      m: { type: 'object', additionalProperties: { type: 'string' } },
      o: object,
      p: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    },
  });
  const cases: readonly (readonly [spec: object, unknown: readonly string[]])[] = [
    [{ l: { b: 1, a: { c: 2 } } }, ['spec.l.a', 'spec.l.b']],
    [{ s: { b: 1, a: 2 } }, ['spec.s.a', 'spec.s.b']],
    [{ i: { z: 1 } }, ['spec.i.z']],
    [{ m: [{ a: 1 }, 2, [{ b: 2 }]] }, ['spec.m[0].a', 'spec.m[2][0].b']],
    [{ o: [{ a: 1 }] }, ['spec.o[0].a']],
    [{ p: [{ a: 1 }] }, []],
    [{ lo: { k: 'x' } }, ['spec.lo.k']],
    [{ lo: [[{ k: 'x', z: 1 }]] }, ['spec.lo[0][0].k', 'spec.lo[0][0].z']],
    [{ s: [{ a: 1 }] }, ['spec.s[0].a']],
    [{ m: { a: { b: 1 } } }, ['spec.m.a.b']],
    [{ o: { k: { b: 1 } } }, ['spec.o.k.b']],
    [{ l: [{ a: 1 }] }, ['spec.l[0].a']],
  ];
  for (const [spec, unknown] of cases) {
    const { status, headers } = await send('POST', WIDGETS, widget('a', spec));
    assert.equal(status, 422);
    const warnings = unknown.map((path) => `299 - "unknown field \\"${path}\\""`);
    assert.deepEqual([headers['warning'] ?? []].flat(), warnings, JSON.stringify(spec));
  }
});

test('tables, selectable fields, a scale, cluster scope', async () => {
  const spec: JSONSchemaProps = { type: 'object', properties: { n: { type: 'integer' }, since: { type: 'string' } } };
  const version = versionOf('v1', spec, {
    subresources: { scale: { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n' } },
    selectableFields: [{ jsonPath: '.spec.n' }],
    additionalPrinterColumns: [
      { name: 'N', type: 'integer', jsonPath: '.spec.n' },
      { name: 'Since', type: 'date', jsonPath: '.spec.since', priority: 1 },
      { name: 'All', type: 'string', jsonPath: '.spec' },
    ],
  });
  const { send } = await startWithWidgets({}, { scope: 'Cluster', versions: [version] });
  const path = '/apis/example.com/v1/widgets';
  assert.equal((await send('POST', WIDGETS, widget('a', {}))).status, 404);
  await send('POST', path, widget('a', { n: 3, since: 'never' }));
  await send('POST', path, widget('b', {}));
  const table = await send('GET', path, undefined, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' });
  assert.deepEqual(
    table.body.columnDefinitions.map(({ name, priority }: { name: string; priority: number }) => `${name} ${priority}`),
    ['Name 0', 'N 0', 'Since 1', 'All 0'],
  );
  assert.deepEqual(
    table.body.rows.map(({ cells }: { cells: unknown[] }) => cells),
    [
      ['a', 3, '<invalid>', '{"n":3,"since":"never"}'],
      ['b', null, null, '{}'],
    ],
  );
  const found = await send('GET', `${path}?fieldSelector=spec.n=3`);
  assert.deepEqual(
    found.body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name),
    ['a'],
  );
  const unknown = await send('GET', `${path}?fieldSelector=spec.x=3`);
  assert.deepEqual([unknown.status, unknown.body.message], [400, 'field label not supported: spec.x']);
  const scale = await send('PATCH', `${path}/a/scale`, { spec: { replicas: 5 } }, merge);
  assert.deepEqual([scale.body.kind, scale.body.spec], ['Scale', { replicas: 5 }], scale.text);
  assert.equal((await send('GET', `${path}/a`)).body.spec.n, 5);
  assert.equal((await send('GET', `${path}/b/scale`)).status, 500);
  const empty = await send('PATCH', `${path}/b/scale`, { metadata: { labels: { a: 'b' } } }, merge);
  assert.deepEqual([empty.status, empty.body.message], [400, 'the spec replicas field ".spec.n" cannot be empty']);
  const posted = await send('POST', `${path}/a/scale`, {});
  const kind = 'widgets.example.com';
  assert.deepEqual(
    [posted.status, posted.body.message],
    [405, `create is not supported on resources of kind "${kind}"`],
  );
  assert.equal((await send('GET', `${path}/a/nope`)).body.message, `${kind} "a" not found`);
  assert.equal((await send('PUT', path, {})).body.message, 'name must be provided');
  const strategic = { 'content-type': 'application/strategic-merge-patch+json' };
  assert.equal((await send('PATCH', `${path}/a/scale`, { spec: { replicas: 5 } }, strategic)).status, 415);
  const apply = { 'content-type': 'application/apply-patch+yaml' };
  const wanted = (replicas: number): object => ({
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name: 'a' },
    spec: { replicas },
  });
  const same = await send('PATCH', `${path}/a/scale?fieldManager=m`, wanted(5), apply);
  assert.equal(same.status, 200, same.text);
  const other = await send('PATCH', `${path}/a/scale?fieldManager=m&force=true`, wanted(6), apply);
  assert.deepEqual(
    [other.status, other.body.message],
    [
      500,
      'failed to convert new object (/a; autoscaling/v1, Kind=Scale) to proper version: request to convert CR to an invalid group/version: autoscaling/v1',
    ],
  );
  const negative = await send('PATCH', `${path}/a`, { spec: { n: -1 } }, merge);
  assert.equal(
    negative.body.message,
    'Widget.example.com "a" is invalid: .spec.n: Invalid value: -1: should be a non-negative integer',
  );
});

test('stored objects get the current defaults, and keep values that were valid once', async () => {
  const server = await startWithWidgets({ type: 'object', properties: { a: { type: 'string' } } });
  const { send } = server;
  await send('POST', WIDGETS, widget('old', { a: 'long' }));
  const current = (await send('GET', `${DEFINITIONS}/widgets.example.com`)).body;
  const stricter = {
    type: 'object',
    properties: { a: { type: 'string', maxLength: 2 }, b: { type: 'integer', default: 7 } },
  };
  await send('PUT', `${DEFINITIONS}/widgets.example.com`, {
    ...current,
    spec: { ...current.spec, versions: [versionOf('v1', stricter)] },
  });
  await settle();
  assert.deepEqual((await send('GET', `${WIDGETS}/old`)).body.spec, { a: 'long', b: 7 });
  assert.equal((await send('PATCH', `${WIDGETS}/old`, { spec: { b: 8 } }, merge)).status, 200);
  assert.equal((await send('PATCH', `${WIDGETS}/old`, { spec: { a: 'longer' } }, merge)).status, 422);
  assert.equal((await send('POST', WIDGETS, widget('new', { a: 'long' }))).status, 422);
});

test('a version that is not served is not there', async () => {
  const { send } = await startCustomServer();
  const versions = [
    versionOf('v1', { type: 'object' }),
    versionOf('v2', { type: 'object' }, { served: false, storage: false }),
  ];
  await send('POST', DEFINITIONS, widgetDefinition({}, { versions }));
  await settle();
  assert.equal((await send('GET', '/apis/example.com/v2/widgets')).status, 404);
  const groups = (await send('GET', '/apis/example.com')).body;
  assert.deepEqual(
    groups.versions.map(({ version }: { version: string }) => version),
    ['v1'],
  );
});

test('an apply keeps nulls, which the schema refuses, also of what it empties', async () => {
  const inner = { type: 'object', properties: { b: { type: 'string' } } };
  const { send } = await startWithWidgets({ type: 'object', properties: { o: inner } });
  const config = { 'content-type': 'application/apply-patch+yaml' };
  const path = `${WIDGETS}/a?fieldManager=m`;
  assert.equal((await send('PATCH', path, widget('a', { o: { b: 'x' } }), config)).status, 201);
  for (const o of [{}, null]) {
    const { status, body } = await send('PATCH', path, widget('a', { o }), config);
    assert.deepEqual(
      [status, body.message],
      [
        422,
        'Widget.example.com "a" is invalid: spec.o: Invalid value: "null": spec.o in body must be of type object: "null"',
      ],
    );
  }
});

test('a list has a token even where there is none; another kind is refused by validation, another version before', async () => {
  const { send } = await startWithWidgets({ type: 'object', properties: {} });
  const { body } = await send('GET', WIDGETS);
  assert.equal(body.metadata.continue, '');
  const pod = await send('POST', WIDGETS, { ...widget('a', {}), kind: 'Pod' });
  assert.deepEqual(
    [pod.status, pod.body.message],
    [422, 'Pod.example.com "a" is invalid: kind: Invalid value: "Pod": must be Widget'],
  );
  const other = await send('POST', WIDGETS, { ...widget('a', {}), kind: 'Pod', apiVersion: 'v1' });
  assert.equal(
    other.body.message,
    'the API version in the data (v1) does not match the expected API version (example.com/v1)',
  );
});

test('an update that removes an object answers with the revision it had; metadata is decoded by itself', async () => {
  const { send } = await startWithWidgets({ type: 'object', properties: {} });
  const held = await send('POST', WIDGETS, widget('a', {}, { metadata: { name: 'a', finalizers: ['example.com/x'] } }));
  assert.equal(held.status, 201);
  const { body: marked } = await send('DELETE', `${WIDGETS}/a`);
  const merge = { 'content-type': 'application/merge-patch+json' };
  const { body: freed } = await send('PATCH', `${WIDGETS}/a`, { metadata: { finalizers: null } }, merge);
  assert.equal(freed.metadata.resourceVersion, marked.metadata.resourceVersion);
  const wrong = await send('POST', WIDGETS, widget('b', {}, { metadata: { name: 'b', labels: { a: 1 } } }));
  assert.equal(
    wrong.body.message,
    'Widget in version "v1" cannot be handled as a Widget: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string',
  );
});
