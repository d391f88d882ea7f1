/** Custom objects of another kind, version or scope than their path's: upstream's codes and texts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWithWidgets, versionOf, widget, WIDGETS } from './custom-fixture.ts';

const merge = { 'content-type': 'application/merge-patch+json' };
const ALL = '/apis/example.com/v1/widgets';
const OTHER_VERSION = 'does not match the expected API version (example.com/v1)';
const UNRECOGNIZED = 'the object provided is unrecognized (must be of type Widget): ';
const named = { metadata: { name: 'b' } };

type Row = readonly [request: string, body: unknown, code: number, text: string];

const rows: readonly Row[] = [
  [
    `POST ${WIDGETS}`,
    '{"apiVersion":"example.com/v1","metadata":{"name":"b"}}',
    400,
    `${UNRECOGNIZED}Object 'Kind' is missing in '{"apiVersion":"example.com/v1","metadata":{"name":"b"}}' ({"apiVersion":"example.com/v1" ...)`,
  ],
  [
    `POST ${WIDGETS}?fieldValidation=Ignore`,
    named,
    400,
    `Widget in version "v1" cannot be handled as a Widget: Object 'Kind' is missing in '{"metadata":{"name":"b"}}'`,
  ],
  [`POST ${WIDGETS}`, { ...named, kind: 'Widget' }, 400, `the API version in the data () ${OTHER_VERSION}`],
  [`PUT ${WIDGETS}/a`, { ...named, kind: 'Widget' }, 400, `the API version in the data () ${OTHER_VERSION}`],
  [
    `POST ${WIDGETS}`,
    { apiVersion: 'example.com/v1', kind: 1 },
    400,
    `${UNRECOGNIZED}couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string (`,
  ],
  [`PUT ${WIDGETS}/a`, {}, 400, `${UNRECOGNIZED}Object 'Kind' is missing in '{}' ({})`],
  [
    `POST ${WIDGETS}`,
    { ...named, kind: 'Foo', apiVersion: 'example.com/v1' },
    422,
    'Foo.example.com "b" is invalid: kind: Invalid value: "Foo": must be Widget',
  ],
  [
    `PATCH ${WIDGETS}/a`,
    { kind: 'Foo' },
    422,
    'Foo.example.com "a" is invalid: kind: Invalid value: "Foo": must be Widget',
  ],
  [
    `PATCH ${WIDGETS}/a`,
    { apiVersion: 'example.com/v2' },
    422,
    'Widget.example.com "a" is invalid: apiVersion: Invalid value: "example.com/v2": must be example.com/v1',
  ],
  [`PATCH ${WIDGETS}/a`, { kind: null }, 422, `Object 'Kind' is missing in '{"apiVersion":"example.com/v1",`],
  [`POST ${ALL}`, widget('b', {}), 404, '404 page not found\n'],
  [`DELETE ${ALL}`, undefined, 404, '404 page not found\n'],
  [`GET ${ALL}/a`, undefined, 404, '404 page not found\n'],
];

test('custom objects of another kind, version or scope are refused as by upstream', async () => {
  const { send } = await startWithWidgets({ type: 'object' });
  assert.equal((await send('POST', WIDGETS, widget('a', {}))).status, 201);
  for (const [request, body, code, text] of rows) {
    const [method = '', path = ''] = request.split(' ');
    const answer = await send(method, path, body, method === 'PATCH' ? merge : {});
    const message = (answer.body as { message?: string } | undefined)?.message ?? answer.text;
    assert.equal(answer.status, code, `${request} ${JSON.stringify(body)}: ${message}`);
    assert.ok(message.includes(text), `${request} ${JSON.stringify(body)}: ${message}`);
  }
  assert.equal((await send('GET', ALL)).body.items.length, 1);
});

test('the status of a custom object takes no kind from a body or patch', async () => {
  const { send } = await startWithWidgets(
    { type: 'object' },
    { versions: [versionOf('v1', { type: 'object' }, { subresources: { status: {} } })] },
  );
  const { body } = await send('POST', WIDGETS, widget('a', {}));
  const put = await send('PUT', `${WIDGETS}/a/status`, { ...body, kind: 'Foo' });
  const patched = await send('PATCH', `${WIDGETS}/a/status`, { kind: 'Foo' }, merge);
  for (const answer of [put, patched])
    assert.deepEqual([answer.status, answer.body.kind], [200, 'Widget'], answer.text);
});
