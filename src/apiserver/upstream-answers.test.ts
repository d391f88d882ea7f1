/** Responses of a server of v1.36, and ours, except for the validation of objects, which has its own table. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWithAll } from './all-resources-fixture.ts';
import type { TestServer } from './server-fixture.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const METHOD = 'the server does not allow this method on the requested resource';
const NO_KIND = 'is registered for version';
const merge = { 'content-type': 'application/merge-patch+json' };
const json = { 'content-type': 'application/json-patch+json' };
const strategic = { 'content-type': 'application/strategic-merge-patch+json' };
const apply = { 'content-type': 'application/apply-patch+yaml' };
const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'there' } };

type Row = readonly [
  request: string,
  body: unknown,
  headers: Readonly<Record<string, string>>,
  code: number,
  text: string,
];

const rows: readonly Row[] = [
  ['GET /nothing', undefined, {}, 404, '404 page not found\n'],
  ['GET /apis/nobody', undefined, {}, 404, '404 page not found\n'],
  ['GET /apis/nobody/v1/things', undefined, {}, 404, '404 page not found\n'],
  ['GET /apis/apps/v9/deployments', undefined, {}, 404, 'the server could not find the requested resource'],
  ['GET /api/v9', undefined, {}, 404, 'the server could not find the requested resource'],
  [`HEAD ${MAPS}`, undefined, {}, 405, METHOD],
  [`PUT ${MAPS}`, map, {}, 405, METHOD],
  ['GET /api/v1/namespaces/default/pods/p/binding', undefined, {}, 405, METHOD],
  ['POST /version', {}, {}, 405, METHOD],
  [`GET ${MAPS}?timeoutSeconds=x`, undefined, {}, 400, 'strconv.ParseInt: parsing "x": invalid syntax'],
  [`GET ${MAPS}?continue=x`, undefined, {}, 400, 'illegal base64 data at input byte 0'],
  [`GET ${MAPS}?resourceVersion=x`, undefined, {}, 400, 'invalid resource version: resourceVersion: Invalid value'],
  [`GET ${MAPS}?resourceVersionMatch=a&resourceVersion=1`, undefined, {}, 422, 'values: "Exact", "NotOlderThan", ""'],
  [`GET ${MAPS}`, undefined, { accept: 'text/html' }, 406, '406: Not Acceptable\n\nAvailable representations: '],
  [`POST ${MAPS}?dryRun=x`, map, {}, 422, 'dryRun: Unsupported value: ["x"]: supported values: "All"'],
  [`POST ${MAPS}`, '', {}, 400, 'json parse error: unexpected end of JSON input (<empty>)'],
  [`POST ${MAPS}`, '[]', {}, 400, 'json: cannot unmarshal array into Go value of type struct {'],
  [`POST ${MAPS}`, '[]', {}, 400, '(5b5d)'],
  [
    `POST ${MAPS}`,
    { kind: 1 },
    {},
    400,
    "couldn't get version/kind; json parse error: json: cannot unmarshal number into",
  ],
  [`POST ${MAPS}`, { kind: {} }, {}, 400, 'object into Go struct field .kind of type string ({"kind":{}})'],
  [`POST ${MAPS}`, 'null', {}, 422, 'metadata.name: Required value: name or generateName is required'],
  [`POST ${MAPS}`, { ...map, apiVersion: 'v2' }, {}, 400, `no kind "ConfigMap" ${NO_KIND} "v2" in scheme`],
  [`POST ${MAPS}`, { ...map, kind: 'Pod' }, {}, 400, 'converting (v1.Pod) to (core.ConfigMap): unknown conversion'],
  [`POST ${MAPS}`, { ...map, data: { a: 1 } }, {}, 400, 'number into Go struct field ConfigMap.data of type string'],
  [
    `PUT ${MAPS}/there`,
    { ...map, metadata: { name: 'there', namespace: 'x' } },
    {},
    400,
    'namespace sent on the request',
  ],
  [
    `PUT ${MAPS}/there`,
    { ...map, metadata: { name: 'other', namespace: 'x' } },
    {},
    400,
    'namespace sent on the request',
  ],
  [
    `PUT ${MAPS}/there`,
    { ...map, metadata: { name: 'there', deletionTimestamp: '2026-01-01T00:00:00Z' } },
    {},
    422,
    'metadata.deletionTimestamp: Invalid value: "2026-01-01T00:00:00Z": field is immutable',
  ],
  [`PATCH ${MAPS}/there`, {}, {}, 415, '415: Unsupported Media Type'],
  [`PATCH ${MAPS}/there`, 'null', merge, 400, 'Invalid JSON Patch'],
  [`PATCH ${MAPS}/there`, [], strategic, 400, 'json: cannot unmarshal array into Go value of type map'],
  [`PATCH ${MAPS}/there`, { metadata: { name: 'x' } }, merge, 400, 'does not match the name on the URL (there)'],
  [
    `PATCH ${MAPS}/there`,
    { metadata: { uid: 'x' } },
    merge,
    422,
    'metadata.uid: Invalid value: "x": field is immutable',
  ],
  [`PATCH ${MAPS}/there`, { kind: 'Foo' }, merge, 422, `no kind "Foo" ${NO_KIND} "v1" in scheme`],
  [
    `PATCH ${MAPS}/there`,
    { kind: 'Pod' },
    merge,
    422,
    'patch: Invalid value: "{\\"apiVersion\\":\\"v1\\",\\"kind\\":\\"Pod\\",',
  ],
  [
    `PATCH ${MAPS}/there`,
    [{ op: 'replace', path: '/kind', value: 'Pod' }],
    json,
    422,
    ': converting (v1.Pod) to (core.ConfigMap): unknown conversion',
  ],
  [`PATCH ${MAPS}/there`, { data: [1] }, strategic, 422, 'patch: Invalid value: "map[data:[1]]": '],
  [`PATCH ${MAPS}/there?fieldManager=m`, '[]', apply, 400, 'error decoding YAML: error unmarshaling JSON: '],
  [`PATCH ${MAPS}/there?fieldManager=m`, { ...map, kind: 'Foo' }, apply, 400, 'invalid object type: /v1, Kind=Foo'],
  [
    `DELETE ${MAPS}/there`,
    { preconditions: { uid: 'x' } },
    {},
    409,
    'on ConfigMap "there": the UID in the precondition',
  ],
  [`DELETE ${MAPS}/there`, { propagationPolicy: 'x' }, {}, 422, '"Foreground", "Background", "Orphan", "nil"'],
  [
    'POST /apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews',
    { spec: { user: 'x', resourceAttributes: { verb: 'get' } } },
    {},
    422,
    '.authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value: "": must match',
  ],
];

function answerTo({ send }: TestServer, request: string, body: unknown, headers: Record<string, string>) {
  const [method = '', path = ''] = request.split(' ');
  return send(method, path, body, { 'content-type': 'application/json', ...headers });
}

test('refusals outside of validation have code and text of upstream', async () => {
  const server = await startWithAll();
  await server.send('POST', MAPS, map);
  for (const [request, body, headers, code, text] of rows) {
    const answer = await answerTo(server, request, body, { ...headers });
    const message = (answer.body as { message?: string } | undefined)?.message ?? answer.text;
    assert.equal(answer.status, code, `${request} ${JSON.stringify(body)}: ${message}`);
    assert.ok(message.includes(text), `${request} ${JSON.stringify(body)}: ${message}`);
  }
});

const accepted: readonly (readonly [body: unknown, headers: Record<string, string>, data: object])[] = [
  [[{ op: 'replace', path: '/data/new', value: '1' }], json, { a: '1', new: '1' }],
  [[{ op: 'copy', from: '/data/none', path: '/data/new' }], json, { a: '1', new: '' }],
  ['null', json, { a: '1' }],
  ['null', strategic, { a: '1' }],
  [{ apiVersion: 'v9', kind: 'Foo' }, strategic, { a: '1' }],
];

test('a namespace in the body of an object that has none is dropped', async () => {
  const { send } = await startWithAll();
  const named = { metadata: { name: 'a', namespace: 'x' } };
  for (const path of ['/api/v1/namespaces', '/apis/storage.k8s.io/v1/storageclasses']) {
    const body = { ...named, provisioner: 'p' };
    const answers = [
      await send('POST', path, body),
      await send('PUT', `${path}/a`, body),
      await send('PATCH', `${path}/a`, named, merge),
      await send('GET', `${path}/a`),
    ];
    for (const { status, text, body: object } of answers)
      assert.deepEqual([Math.floor(status / 100), object.metadata?.namespace], [2, undefined], `${path}: ${text}`);
  }
});

test('patches that upstream accepts', async () => {
  const server = await startWithAll();
  await server.send('POST', MAPS, { ...map, data: { a: '1' } });
  for (const [body, headers, data] of accepted) {
    const answer = await answerTo(server, `PATCH ${MAPS}/there?dryRun=All`, body, headers);
    assert.equal(answer.status, 200, answer.text);
    const { kind, apiVersion, data: after } = answer.body as { kind: string; apiVersion: string; data: object };
    assert.deepEqual([kind, apiVersion, after], ['ConfigMap', 'v1', data]);
  }
});

test('items of lists have no kind of their own but where they are custom, and reviews have an owner', async () => {
  const { send } = await startWithAll();
  await send('POST', MAPS, map);
  for (const query of ['', '?pretty=true']) {
    const { items } = (await send('GET', MAPS + query)).body as { items: { kind?: string }[] };
    assert.equal(items.length, 1);
    assert.equal(items[0]!.kind, undefined);
  }
  const review = { spec: { user: 'x', resourceAttributes: { verb: 'get' } } };
  const { body } = await send('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews?fieldManager=me', review);
  const { managedFields } = (body as { metadata: { managedFields: { manager: string }[] } }).metadata;
  assert.deepEqual(
    managedFields.map(({ manager }) => manager),
    ['me'],
  );
});

test('a pod that is deleted at once is shown as marked without grace', async () => {
  const { send } = await startWithAll();
  const pods = '/api/v1/namespaces/default/pods';
  const pod = { metadata: { name: 'p' }, spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] } };
  const markOf = (answer: { body: unknown }): unknown[] => {
    const { metadata } = answer.body as { metadata: Record<string, unknown> };
    return [
      metadata['deletionTimestamp'] !== undefined,
      metadata['deletionGracePeriodSeconds'],
      metadata['generation'],
    ];
  };
  await send('POST', pods, pod);
  assert.deepEqual(markOf(await send('DELETE', `${pods}/p?gracePeriodSeconds=0`)), [true, 0, 2]);
  await send('POST', pods, pod);
  assert.deepEqual(markOf(await send('DELETE', `${pods}/p`)), [true, 30, 2]);
  assert.deepEqual(markOf(await send('DELETE', `${pods}/p?gracePeriodSeconds=0`)), [true, 0, 2]);
  assert.equal((await send('GET', `${pods}/p`)).status, 404);
});
