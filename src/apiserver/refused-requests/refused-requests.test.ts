import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { forbidden, notFound } from '../../api/status-error.ts';
import type { RefusedRequest, RefusedRequestList } from '../../component-helpers/refused-request.ts';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import type { AdmissionPlugin } from '../admission/contract.ts';
import type { Authorizer } from '../authz/contract.ts';
import { parseRequestInfo } from '../request-info.ts';
import { RequestScope } from '../request-scope.ts';
import { startTestServer } from '../server-fixture.ts';
import { recordRefusal } from './refusal-source.ts';
import { RefusedRequests } from './refused-requests.ts';

const refusesPods: AdmissionPlugin = {
  name: 'Refuses',
  handles: (operation, resource) => operation === 'CREATE' && resource.resource === 'pods',
  async validate() {
    await Promise.resolve();
    throw forbidden({ group: '', resource: 'pods' }, 'p', 'not today');
  },
};
/** Administrators may do everything, the others read pods and their own refusals. */
const authorizer: Authorizer = {
  authorize: ({ user, path, verb, resource }) => ({
    decision:
      user.groups.includes('system:masters') ||
      path.startsWith('/keelson/v1/requests') ||
      (verb === 'get' && resource === 'pods')
        ? 'allow'
        : 'noOpinion',
    reason: 'no rule',
  }),
};
const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p' },
  spec: { containers: [{ name: 'a', image: 'hidden-image' }] },
};
const PODS = '/api/v1/namespaces/default/pods';

async function startServer() {
  const { server, send, request } = await startTestServer({ admission: [refusesPods], authorizers: [authorizer] });
  const get = async (name: string, path: string) => {
    const answer = await server.handler(
      request('GET', path, { principal: { name, groups: ['system:authenticated'] } }),
    );
    if (answer.kind !== 'bytes') throw new Error(`unexpected ${answer.kind} answer`);
    const text = Buffer.concat(answer.chunks).toString('utf8');
    return { status: answer.status, headers: answer.headers, body: JSON.parse(text) as RefusedRequestList };
  };
  return { send, get };
}

describe('refused requests', () => {
  test('a request that admission refuses is recorded by the audit id of its response, without its body', async () => {
    const { send } = await startServer();
    const refused = await send('POST', `${PODS}?fieldManager=m`, pod);
    assert.equal(refused.status, 403);
    const { body, text } = await send('GET', `/keelson/v1/requests/${String(refused.headers['audit-id'])}`);
    const { user, verb, path, resource, code, reason, refusedBy, passed } = body as RefusedRequest;
    assert.deepEqual(
      { user, verb, path, resource: resource?.resource, code, reason },
      { user: 'admin', verb: 'create', path: PODS, resource: 'pods', code: 403, reason: 'Forbidden' },
    );
    assert.deepEqual(refusedBy, { part: 'validatingAdmission', plugin: 'Refuses' });
    assert.deepEqual(
      passed.map(({ name }) => name),
      ['authentication', 'flowControl', 'authorization', 'decoding', 'mutatingAdmission', 'validation'],
    );
    assert.equal(text.includes('hidden-image'), false);
  });

  test('an id that the client chose is that of the response', async () => {
    const { send } = await startServer();
    const { headers } = await send('POST', PODS, pod, { 'audit-id': 'mine' });
    assert.equal(headers['audit-id'], 'mine');
    assert.equal((await send('GET', '/keelson/v1/requests/mine')).body.id, 'mine');
  });

  test('not found and already exists are not recorded; malformed requests are', async () => {
    const { send } = await startServer();
    assert.equal((await send('GET', `${PODS}/none`)).status, 404);
    const named = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } };
    const maps = '/api/v1/namespaces/default/configmaps';
    await send('POST', maps, named);
    assert.equal((await send('POST', maps, named)).status, 409);
    assert.equal((await send('GET', '/keelson/v1/requests')).body.items.length, 0);
    await send('POST', maps, '{');
    await send('POST', maps, { ...named, metadata: { name: 'B!' } });
    const { items } = (await send('GET', '/keelson/v1/requests')).body as RefusedRequestList;
    assert.deepEqual(
      items.map(({ refusedBy }) => refusedBy.part),
      ['validation', 'decoding'],
    );
  });

  test('everybody reads their own, and administrators all', async () => {
    const { send, get } = await startServer();
    const refused = await get('ann', '/api/v1/nodes');
    assert.equal(refused.status, 403);
    const id = String(refused.headers['audit-id']);
    const mine = await get('ann', '/keelson/v1/requests');
    assert.deepEqual(
      mine.body.items.map((one) => [one.id, one.refusedBy]),
      [[id, { part: 'authorization', reason: 'no rule' }]],
    );
    assert.equal((await get('bob', `/keelson/v1/requests/${id}`)).status, 404);
    assert.equal((await get('bob', '/keelson/v1/requests')).body.items.length, 0);
    assert.equal((await get('bob', `/keelson/v1/all-requests/${id}`)).status, 403);
    assert.equal((await send('GET', `/keelson/v1/all-requests/${id}`)).body.user, 'ann');
  });
});

function scopeOf(name: string, id?: string): RequestScope {
  const line = { method: 'POST', path: PODS, params: new URLSearchParams() };
  const headers = id === undefined ? {} : { 'audit-id': id };
  const request = { method: 'POST', path: PODS, query: '', headers } as unknown as RequestScope['request'];
  return new RequestScope({ request, info: parseRequestInfo(line), params: line.params, user: { name, groups: [] } });
}

function refuse(refused: RefusedRequests, scope: RequestScope, message: string, ownerUid?: string): string {
  const error = forbidden({ group: '', resource: 'pods' }, 'p', message);
  if (ownerUid !== undefined) recordRefusal(error, { part: 'validatingAdmission', plugin: 'Refuses', ownerUid });
  return refused.record(scope, error, error.status)!;
}

describe('the memory of refused requests', () => {
  const create = () => new RefusedRequests(new VirtualClock(), createSeededRandom('ids'));

  test("one user's flood pushes out that user's requests alone", () => {
    const refused = create();
    refuse(refused, scopeOf('ann'), 'first');
    for (let count = 0; count < 5000; count++) refuse(refused, scopeOf('flood'), `${count}`);
    assert.equal(refused.of('ann').length, 1);
    assert.equal(refused.of('flood').length, 128);
    assert.match(refused.of('flood')[0]!.message, /4999$/);
  });

  test('it is bounded whatever users there are, and however long their texts', () => {
    const refused = create();
    const long = 'x'.repeat(100_000);
    for (let user = 0; user < 3000; user++) refuse(refused, scopeOf(`${user}`, long), long);
    refuse(refused, scopeOf(long), long);
    assert.equal(refused.all().length, 1024);
    assert.ok(JSON.stringify(refused.all()).length < 1024 * 4096);
    assert.deepEqual([refused.of('0').length, refused.of(long).length, refused.of('2999').length], [0, 0, 1]);
  });

  test('a reused id does not change the record of the first request', () => {
    const refused = create();
    refuse(refused, scopeOf('ann', 'mine'), 'first');
    refuse(refused, scopeOf('ann', 'mine'), 'second');
    refuse(refused, scopeOf('bob', 'mine'), 'third');
    assert.deepEqual(
      refused.all().map(({ user, message }) => [user, message.slice(-5)]),
      [
        ['bob', 'third'],
        ['ann', 'first'],
      ],
    );
  });

  test('of repeated requests for one owner the last is kept', () => {
    const refused = create();
    for (const message of ['one', 'two', 'three']) refuse(refused, scopeOf('controller'), message, 'uid-1');
    refuse(refused, scopeOf('controller'), 'other', 'uid-2');
    const { namespace } = scopeOf('controller').info;
    assert.match(refused.ownedBy('uid-1', namespace)[0]!.message, /three$/);
    // The records of another tenant do not contain the object, although the tenant knows its uid.
    assert.deepEqual(refused.ownedBy('uid-1', 'another'), []);
    assert.equal(refused.all().length, 2);
  });

  test('a 404 of an admission plugin is a refusal', () => {
    const refused = create();
    const error = notFound({ group: '', resource: 'namespaces' }, 'none');
    assert.equal(refused.record(scopeOf('ann'), error, error.status), undefined);
    recordRefusal(error, { part: 'validatingAdmission', plugin: 'NamespaceLifecycle' });
    assert.ok(refused.record(scopeOf('ann'), error, error.status));
  });
});
