/** Refused requests for objects: upstream's codes and texts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from './server-fixture.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const PODS_PATH = '/api/v1/namespaces/default/pods';
const configMap = (name: string, data: Record<string, string> = { a: '1' }, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...metadata },
  data,
});

test("refusals carry upstream's codes and texts", async () => {
  const { send } = await startTestServer();
  await send('POST', MAPS, configMap('there'));
  const cases: [string, string, string, unknown, Record<string, string>, number, RegExp][] = [
    ['same name', 'POST', MAPS, configMap('there'), {}, 409, /^configmaps "there" already exists$/],
    [
      'bad name',
      'POST',
      MAPS,
      configMap('NO'),
      {},
      422,
      /^ConfigMap "NO" is invalid: metadata\.name: Invalid value: "NO": a lowercase RFC 1123 subdomain/,
    ],
    [
      'other namespace',
      'POST',
      MAPS,
      configMap('x', {}, { namespace: 'b' }),
      {},
      400,
      /^the namespace of the provided object does not match the namespace sent on the request$/,
    ],
    [
      'other version',
      'POST',
      MAPS,
      { ...configMap('x'), apiVersion: 'v2' },
      {},
      400,
      /: no kind "ConfigMap" is registered for version "v2" in scheme /,
    ],
    [
      'not JSON',
      'POST',
      MAPS,
      '{',
      {},
      400,
      /^the object provided is unrecognized \(must be of type ConfigMap\): couldn't get version\/kind; json parse error/,
    ],
    [
      'a manager that nobody can read',
      'POST',
      MAPS,
      configMap(
        'x',
        {},
        {
          managedFields: [
            {
              manager: 'a\u0001',
              operation: 'Update',
              apiVersion: 'v1',
              fieldsType: 'FieldsV1',
              fieldsV1: { 'f:data': {} },
            },
          ],
        },
      ),
      {},
      422,
      /metadata\.managedFields\[0\]\.manager: Invalid value: "a\\x01": invalid character U\+0001 \(at position 1\)$/,
    ],
    [
      'a manager too long',
      'POST',
      `${MAPS}?fieldManager=${'m'.repeat(129)}`,
      configMap('x'),
      {},
      422,
      /fieldManager: Too long: may not be more than 128 bytes$/,
    ],
    ['no object', 'POST', MAPS, '[]', {}, 400, /unrecognized/],
    [
      'wrong type',
      'POST',
      MAPS,
      { ...configMap('x'), data: { a: 1 } },
      {},
      400,
      /ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number/,
    ],
    [
      'strict',
      'POST',
      `${MAPS}?fieldValidation=Strict`,
      { ...configMap('x'), foo: 1 },
      {},
      400,
      /strict decoding error: unknown field "foo"/,
    ],
    [
      'media type',
      'POST',
      MAPS,
      'x',
      { 'content-type': 'text/plain' },
      415,
      /accepted media types include: application\/json, application\/yaml/,
    ],
    [
      'accept',
      'GET',
      `${MAPS}/there`,
      undefined,
      { accept: 'text/html' },
      406,
      /^406: Not Acceptable\n\nAvailable representations: application\/json, application\/yaml, application\/vnd.kubernetes.protobuf$/,
    ],
    [
      'name in body',
      'PUT',
      `${MAPS}/there`,
      configMap('other'),
      {},
      400,
      /^the name of the object \(other\) does not match the name on the URL \(there\)$/,
    ],
    ['patch type', 'PATCH', `${MAPS}/there`, {}, {}, 415, /^415: Unsupported Media Type$/],
    [
      'broken patch',
      'PATCH',
      `${MAPS}/there`,
      '{',
      { 'content-type': 'application/merge-patch+json' },
      400,
      /error decoding patch/,
    ],
    [
      'strategic patch with an unknown directive',
      'PATCH',
      `${MAPS}/there`,
      { $patch: 'merge' },
      { 'content-type': 'application/strategic-merge-patch+json' },
      400,
      /unknown patch type: merge in map/,
    ],
    [
      'json patch that does not fit',
      'PATCH',
      `${MAPS}/there`,
      [{ op: 'remove', path: '/data/none' }],
      { 'content-type': 'application/json-patch+json' },
      422,
      /./,
    ],
    [
      'patch to a wrong type',
      'PATCH',
      `${MAPS}/there`,
      { data: { a: 1 } },
      { 'content-type': 'application/merge-patch+json' },
      422,
      /patch: Invalid value: .*cannot unmarshal number/,
    ],
    [
      'patch of the name',
      'PATCH',
      `${MAPS}/there`,
      { metadata: { name: 'other' } },
      { 'content-type': 'application/merge-patch+json' },
      400,
      /the name of the object \(other\) does not match the name on the URL \(there\)/,
    ],
    [
      'apply without manager',
      'PATCH',
      `${MAPS}/there`,
      {},
      { 'content-type': 'application/apply-patch+yaml' },
      422,
      /fieldManager: Required value: is required for apply patch/,
    ],
    [
      'unknown resource',
      'GET',
      '/api/v1/frobs',
      undefined,
      {},
      404,
      /^the server could not find the requested resource$/,
    ],
    ['unknown sub-resource', 'GET', `${MAPS}/there/status`, undefined, {}, 404, /could not find/],
    [
      'selector',
      'GET',
      `${MAPS}?fieldSelector=data.x=1`,
      undefined,
      {},
      400,
      /"data\.x" is not a known field selector: only "metadata\.name", "metadata\.namespace"/,
    ],
    ['label selector', 'GET', `${MAPS}?labelSelector=a%3D%3D%3D`, undefined, {}, 400, /./],
    [
      'continue',
      'GET',
      `${MAPS}?continue=xyz`,
      undefined,
      {},
      400,
      /^invalid continue token: continue key is not valid/,
    ],
    ['revision', 'GET', `${MAPS}?resourceVersion=abc`, undefined, {}, 400, /resourceVersion: Invalid value: "abc"/],
    [
      'dry run',
      'POST',
      `${MAPS}?dryRun=Some`,
      configMap('x'),
      {},
      422,
      /dryRun: Unsupported value: \["Some"\]: supported values: "All"/,
    ],
    ['missing', 'DELETE', `${MAPS}/gone`, undefined, {}, 404, /^configmaps "gone" not found$/],
    [
      'precondition',
      'DELETE',
      `${MAPS}/there`,
      { preconditions: { uid: 'x' } },
      {},
      409,
      /the UID in the precondition \(x\) does not match the UID in record/,
    ],
    ['percent', 'GET', '/api/v1/namespaces/%zz/configmaps', undefined, {}, 400, /invalid URL escape/],
    [
      'invalid pod',
      'POST',
      PODS_PATH,
      { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' } },
      {},
      422,
      /^Pod "p" is invalid: spec\.containers: Required value$/,
    ],
    [
      'create with version',
      'POST',
      MAPS,
      configMap('x', {}, { resourceVersion: '5' }),
      {},
      400,
      /resourceVersion should not be set on objects to be created/,
    ],
    [
      'invalid create with version',
      'POST',
      PODS_PATH,
      { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', resourceVersion: '5' } },
      {},
      422,
      /^Pod "p" is invalid: spec\.containers: Required value$/,
    ],
  ];
  for (const [name, method, path, body, headers, status, message] of cases) {
    const answer = await send(method, path, body, headers);
    assert.equal(answer.status, status, `${name}: ${answer.text}`);
    assert.equal(answer.body.kind, 'Status', name);
    assert.match(answer.body.message, message, name);
  }
  assert.equal((await send('GET', `${MAPS}/there`)).status, 200);
  // Upstream's storage refuses a version, and a dry run does not reach it.
  const dryRun = await send('POST', `${MAPS}?dryRun=All`, configMap('x', {}, { resourceVersion: '5' }));
  assert.equal(dryRun.status, 201, dryRun.text);
});

test('media types with names of Object.prototype are refused like any other', async () => {
  const { send } = await startTestServer();
  for (const type of ['constructor', '__proto__', 'tostring']) {
    const headers = { 'content-type': type };
    assert.equal((await send('POST', MAPS, configMap('x'), headers)).status, 415);
    assert.equal((await send('PATCH', `${MAPS}/x`, {}, headers)).status, 415);
    assert.equal((await send('GET', MAPS, undefined, { accept: type })).status, 406);
  }
});
