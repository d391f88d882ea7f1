/** Impersonation through a whole server: the questions to the authorizers, and the user of the request. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SERVER_GROUP } from '../../bootstrap/server-join.ts';
import { defined } from '../../../base/defined-fixture.ts';
import type { Principal } from '../../../api/transport.ts';
import type { AuthorizationAttributes } from '../../authz/contract.ts';
import { startTestServer } from '../../server-fixture.ts';

const GET = '/api/v1/namespaces/bar/pods/foo';
const ACCOUNT = 'system:serviceaccount:default:default';
const NODE_KEY = 'authentication.kubernetes.io/node-name';
const ANN: Principal = { name: 'ann', groups: [] };
const onNode = (name: string, node: string): Principal => ({
  name,
  groups: ['g'],
  extra: { [NODE_KEY]: [node], a: ['b'] },
});

function text({ verb, apiGroup, resource, subresource, namespace, name, path }: AuthorizationAttributes): string {
  const what = resource === '' ? path : `${apiGroup}/${resource}${subresource === '' ? '' : `/${subresource}`}`;
  return `${verb} ${what}@${namespace}#${name}`;
}

/** A server whose authorizer allows matching questions and records the others, and the user of the last request. */
async function start(may: RegExp) {
  const asked: AuthorizationAttributes[] = [];
  const server = await startTestServer({
    authorizers: [
      {
        authorize: (each) => {
          asked.push(each);
          return { decision: may.test(text(each)) ? 'allow' : 'noOpinion', reason: 'deny by default' };
        },
      },
    ],
  });
  const run = async (
    headers: Record<string, string | readonly string[]>,
    principal = ANN,
    path = GET,
    method = 'GET',
  ) => {
    asked.length = 0;
    const lines = (name: string): readonly string[] => [headers[name] ?? []].flat();
    const joined = Object.fromEntries(Object.keys(headers).map((name) => [name, lines(name).join(',')]));
    const request = server.server.handler(
      server.request(method, path, { headers: joined, headerLines: lines, principal, wantsObjects: true }),
    );
    const answer = await request;
    const { message, code } = (answer as { object: { message: string; code: number } }).object;
    const last = asked.at(-1);
    const served = last !== undefined && last.user.name !== principal.name ? last.user : undefined;
    const checks = asked.filter(({ user }) => user.name === principal.name);
    return { checks: checks.map(text), users: checks.map(({ user }) => user), message, code, served };
  };
  return { run };
}

const ON = (mode: string, verb = 'get'): string => `impersonate-on:${mode}:${verb} /pods@bar#foo`;
const AS = (mode: string, what: string): string => `impersonate:${mode} authentication.k8s.io/${what}`;

describe('constrained impersonation', () => {
  it('of a user: authorizes the action and every attribute of the user', async () => {
    const { run } = await start(/^impersonate(-on)?:user-info/);
    const headers = {
      'impersonate-user': 'bob',
      'impersonate-uid': 'u1',
      'impersonate-group': ['dev', 'CN=x,OU=y'],
      'impersonate-extra-acme.io%2Fscopes': ['a', 'b'],
    };
    const { checks, served } = await run(headers);
    assert.deepEqual(checks, [
      ON('user-info'),
      AS('user-info', 'users@#bob'),
      AS('user-info', 'uids@#u1'),
      AS('user-info', 'groups@#dev'),
      AS('user-info', 'groups@#CN=x,OU=y'),
      AS('user-info', 'userextras/acme.io/scopes@#a'),
      AS('user-info', 'userextras/acme.io/scopes@#b'),
    ]);
    assert.deepEqual(served, {
      name: 'bob',
      uid: 'u1',
      groups: ['dev', 'CN=x,OU=y', 'system:authenticated'],
      extra: { 'acme.io/scopes': ['a', 'b'] },
    });
  });

  const named: [what: string, user: string, by: Principal, mode: string, asked: string, groups: string[]][] = [
    [
      'a service account',
      ACCOUNT,
      ANN,
      'serviceaccount',
      'serviceaccounts@default#default',
      ['system:serviceaccounts', 'system:serviceaccounts:default'],
    ],
    ['any node', 'system:node:n1', ANN, 'arbitrary-node', 'nodes@#n1', ['system:nodes']],
    ['its own node', 'system:node:n1', onNode(ACCOUNT, 'n1'), 'associated-node', 'nodes@#*', ['system:nodes']],
    [
      'another node than its own',
      'system:node:n2',
      onNode(ACCOUNT, 'n1'),
      'arbitrary-node',
      'nodes@#n2',
      ['system:nodes'],
    ],
    [
      'a node, by no service account',
      'system:node:n1',
      onNode('ann', 'n1'),
      'arbitrary-node',
      'nodes@#n1',
      ['system:nodes'],
    ],
    ['a name that is no node', 'system:node:N_1', ANN, 'user-info', 'users@#system:node:N_1', []],
    ['a name that is no account', 'system:serviceaccount:a', ANN, 'user-info', 'users@#system:serviceaccount:a', []],
  ];
  for (const [what, user, by, mode, asked, groups] of named)
    it(`of ${what}: ${mode}`, async () => {
      const { run } = await start(new RegExp(`^impersonate(-on)?:${mode}[ :]`));
      const { checks, served } = await run({ 'impersonate-user': user }, by);
      assert.deepEqual(checks, [ON(mode), AS(mode, asked)]);
      assert.deepEqual(defined(served), { name: user, groups: [...groups, 'system:authenticated'] });
    });

  it('of its own node: an account asks alike from every node', async () => {
    const { run } = await start(/^impersonate(-on)?:associated-node/);
    const { users } = await run({ 'impersonate-user': 'system:node:n1' }, onNode(ACCOUNT, 'n1'));
    const extra = { 'authentication.kubernetes.io/associated-node-keys': ['a', NODE_KEY] };
    assert.deepEqual(users, [
      { name: ACCOUNT, groups: ['g'], extra },
      { name: ACCOUNT, groups: ['g'], extra },
    ]);
  });

  it('of nodes and accounts together with groups is authorized only by the legacy verb impersonate', async () => {
    const { run } = await start(/./);
    for (const user of ['system:node:n1', ACCOUNT]) {
      const { checks } = await run({ 'impersonate-user': user, 'impersonate-group': 'g' });
      assert.deepEqual(
        checks.map((each) => each.split(' ')[0]),
        ['impersonate', 'impersonate'],
      );
    }
  });

  it('allows one verb and not another; the refusal names the strictest missing right', async () => {
    const { run } = await start(/^impersonate-on:user-info:get|^impersonate:user-info/);
    const headers = { 'impersonate-user': 'bob' };
    assert.equal((await run(headers)).served?.name, 'bob');
    const refused = await run(headers, ANN, GET, 'DELETE');
    assert.deepEqual(refused.checks, [ON('user-info', 'delete'), 'impersonate /users@#bob']);
    assert.equal(
      refused.message,
      'pods "foo" is forbidden: User "ann" cannot impersonate-on:user-info:delete resource "pods" in API group "" in the namespace "bar": deny by default',
    );
  });

  it('needs the identity, too', async () => {
    const { run } = await start(/^impersonate-on:/);
    const { message, code } = await run({ 'impersonate-user': 'system:node:n1' });
    assert.equal(code, 403);
    assert.equal(
      message,
      'nodes.authentication.k8s.io "n1" is forbidden: User "ann" cannot impersonate:arbitrary-node resource "nodes" in API group "authentication.k8s.io" at the cluster scope: deny by default',
    );
  });

  it('is authorized for paths that are no resources', async () => {
    const { run } = await start(/^impersonate(-on)?:user-info/);
    const { checks } = await run({ 'impersonate-user': 'bob' }, ANN, '/version');
    assert.equal(checks[0], 'impersonate-on:user-info:get /version@#');
  });

  const many: [what: string, headers: Record<string, string | readonly string[]>, wildcard: string][] = [
    ['groups', { 'impersonate-group': ['a', 'b', 'c', 'd'] }, 'groups@#*'],
    ['extra values', { 'impersonate-extra-a.io%2fk': ['a', 'b', 'c', 'd'] }, 'userextras/*@#*'],
  ];
  for (const [what, headers, wildcard] of many)
    it(`authorizes all at once where there are many ${what}, then one by one`, async () => {
      const all = await start(/^impersonate/);
      const one = await all.run({ 'impersonate-user': 'bob', ...headers });
      assert.deepEqual(one.checks.slice(2), [AS('user-info', wildcard)]);
      const each = await start(/^impersonate(?!.*#\*)/);
      const four = await each.run({ 'impersonate-user': 'bob', ...headers });
      assert.equal(four.served?.name, 'bob');
      assert.equal(four.checks.length, 2 + 1 + 4);
    });

  const never: [headers: Record<string, string | readonly string[]>, reason: string][] = [
    [{ 'impersonate-group': ['a', 'system:masters'] }, 'impersonating the system:masters group is not allowed'],
    [{ 'impersonate-group': ['a', ''] }, 'impersonating the empty string group is not allowed'],
    [{ 'impersonate-extra-': 'a' }, 'impersonating the empty string key in extra is not allowed'],
    [
      { 'impersonate-extra-scopes': 'a' },
      'impersonating an invalid key in extra is not allowed: extra.key: Invalid value: "scopes": must be a domain-prefixed path (such as "acme.io/foo")',
    ],
    [{ 'impersonate-extra-a.io%2FK': 'a' }, 'impersonating a non-lowercase key in extra is not allowed: "a.io/K"'],
    [{ 'impersonate-extra-a.io%2fk': '' }, 'impersonating the empty string value in extra is not allowed'],
  ];
  for (const [headers, reason] of never)
    it(`never: ${reason}; the way of old may`, async () => {
      const constrained = await start(/^impersonate(-on)?:/);
      const { message } = await constrained.run({ 'impersonate-user': 'bob', ...headers });
      assert.ok(message.endsWith(`at the cluster scope: ${reason}`), message);
      const old = await start(/^impersonate/);
      assert.equal((await old.run({ 'impersonate-user': 'bob', ...headers })).served?.name, 'bob');
    });
});

describe('impersonation as of old', () => {
  it('is tried last, and first where it was allowed last', async () => {
    const { run } = await start(/^impersonate [^:]*$/);
    const headers = { 'impersonate-user': 'bob', 'impersonate-group': 'dev', 'impersonate-uid': 'u' };
    const old = ['impersonate /users@#bob', 'impersonate authentication.k8s.io/uids@#u', 'impersonate /groups@#dev'];
    assert.deepEqual((await run(headers)).checks, [ON('user-info'), ...old]);
    const { checks, served } = await run(headers);
    assert.deepEqual(checks, old);
    assert.deepEqual(defined(served), { name: 'bob', uid: 'u', groups: ['dev', 'system:authenticated'] });
    assert.equal((await run(headers, { name: 'eve', groups: [] })).checks.length, 4, 'remembered for each user apart');
  });

  it('adds the groups of service accounts and of anonymous users, but not of nodes', async () => {
    const { run } = await start(/^impersonate \//);
    const groupsOf = async (headers: Record<string, string>): Promise<unknown> => (await run(headers)).served?.groups;
    assert.deepEqual(await groupsOf({ 'impersonate-user': ACCOUNT }), [
      'system:serviceaccounts',
      'system:serviceaccounts:default',
      'system:authenticated',
    ]);
    assert.deepEqual(await groupsOf({ 'impersonate-user': 'system:anonymous' }), ['system:unauthenticated']);
    assert.deepEqual(await groupsOf({ 'impersonate-user': 'system:node:n1' }), ['system:authenticated']);
    const nobody = { 'impersonate-user': 'x', 'impersonate-group': 'system:unauthenticated' };
    assert.deepEqual(await groupsOf(nobody), ['system:unauthenticated']);
  });
});

describe('headers of impersonation', () => {
  it('without a user are refused', async () => {
    const { run } = await start(/./);
    const info = (uid: string, groups: string, extra: string): string =>
      `requested &user.DefaultInfo{Name:"", UID:"${uid}", Groups:${groups}, Extra:${extra}} without impersonating a user name`;
    const nil = '[]string(nil)';
    const rows: [Record<string, string>, string][] = [
      [{ 'impersonate-group': 'dev' }, info('', '[]string{"dev"}', 'map[string][]string(nil)')],
      [{ 'impersonate-uid': 'u' }, info('u', nil, 'map[string][]string(nil)')],
      [{ 'impersonate-extra-a': 'b' }, info('', nil, 'map[string][]string{"a":[]string{"b"}}')],
    ];
    for (const [headers, expected] of rows) {
      const { code, message } = await run(headers);
      assert.deepEqual([code, message], [400, expected]);
    }
  });

  it('that are empty ask for nothing', async () => {
    const { run } = await start(/./);
    assert.deepEqual((await run({ 'impersonate-user': '', 'impersonate-uid': '' })).checks, ['get /pods@bar#foo']);
  });

  it('never allows the group of server tokens: its members can read the keys of the cluster', async () => {
    const { run } = await start(/^impersonate/);
    const { message, served } = await run({
      'impersonate-user': 'system:bootstrap:abcdef',
      'impersonate-group': ['a', SERVER_GROUP],
    });
    assert.equal(served, undefined);
    assert.match(message, /impersonating the system:bootstrappers:keelson:servers group is not allowed$/);
  });
});
