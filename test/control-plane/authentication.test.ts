/**
 * Authentication, with kubectl and with relying parties: service-account tokens with rotated keys, OIDC discovery, an OpenID
 * Connect issuer with its own discovery URL, and impersonation with every trait.
 */
import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyPairKeyObjectResult } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createLocalJWKSet, decodeProtectedHeader, exportJWK, jwtVerify, SignJWT } from 'jose';
import type { TokenKey } from '../../src/apiserver/authn/token-keys.ts';
import type { ServerSettings } from '../../src/cluster/control-plane/server-settings.ts';
import { createTestAuthority } from '../../src/platform/node/certificates-fixture.ts';
import { createNodeClock } from '../../src/platform/node/clock.ts';
import { createMemoryStore } from '../../src/storage/memory/memory-store.ts';
import { type ControlPlaneFixture, startControlPlane, surviving } from './control-plane-fixture.ts';

const rsa = (): KeyPairKeyObjectResult => generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = (): KeyPairKeyObjectResult => generateKeyPairSync('ec', { namedCurve: 'P-256' });

/** Runs kubectl with a bearer token. */
function bearing(
  plane: ControlPlaneFixture,
  token: string,
  ...args: string[]
): ReturnType<ControlPlaneFixture['kubectl']> {
  const server = `--server=https://127.0.0.1:${plane.port}`;
  return plane.kubectl(['--kubeconfig=/dev/null', server, '--insecure-skip-tls-verify', `--token=${token}`, ...args]);
}

const who = ['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'];

test('service-account keys rotate over restarts; relying parties that read the discovery document can verify tokens', async (t) => {
  const store = createMemoryStore({ clock: createNodeClock() });
  t.after(() => store.close());
  const pkiDir = await mkdtemp(join(tmpdir(), 'keelson-keys-'));
  t.after(() => rm(pkiDir, { recursive: true }));
  const [old, next] = [pem(ec(), 'ES256'), pem(rsa(), 'RS256')];
  const verifying = ({ publicKeyPem, algorithm }: TokenKey): TokenKey => ({
    publicKeyPem,
    ...(algorithm && { algorithm }),
  });
  const run = async (keys: readonly TokenKey[], use: (plane: ControlPlaneFixture) => Promise<void>): Promise<void> => {
    const issuer = 'https://issuer.example';
    const tokens: ServerSettings['tokens'] = { issuers: [issuer], audiences: [issuer], keys };
    const plane = await startControlPlane({
      components: false,
      pkiDir,
      store: async () => surviving(store),
      settings: { tokens },
    });
    try {
      await use(plane);
    } finally {
      await plane.stop();
    }
  };
  const newToken = async (plane: ControlPlaneFixture): Promise<string> => {
    const made = await plane.kubectl(['create', 'token', 'robot', '--duration=1h']);
    assert.equal(made.code, 0, made.stderr);
    return made.stdout;
  };
  const speaker = async (plane: ControlPlaneFixture, token: string): Promise<string> => {
    const said = await bearing(plane, token, ...who);
    return said.stdout || said.stderr;
  };
  const robot = 'system:serviceaccount:default:robot';
  let [first, second] = ['', ''];
  await run([old], async (plane) => {
    assert.equal((await plane.kubectl(['create', 'serviceaccount', 'robot'])).code, 0);
    first = await newToken(plane);
    assert.equal(await speaker(plane, first), robot);
  });
  await run([next, verifying(old)], async (plane) => {
    assert.equal(await speaker(plane, first), robot, 'signed with the key before');
    second = await newToken(plane);
    assert.equal(decodeProtectedHeader(second).alg, 'RS256');
    await checkDiscovery(plane, [first, second]);
  });
  await run([next], async (plane) => {
    assert.match(await speaker(plane, first), /Unauthorized/i, 'its key is gone');
    assert.equal(await speaker(plane, second), robot);
  });
});

/** Verifies tokens like a relying party: by the document and the keys that it refers to. */
async function checkDiscovery(plane: ControlPlaneFixture, tokens: readonly string[]): Promise<void> {
  const raw = async (path: string): Promise<string> => {
    const said = await plane.kubectl(['get', '--raw', path]);
    assert.equal(said.code, 0, said.stderr);
    return said.stdout;
  };
  assert.deepEqual(JSON.parse(await raw('/.well-known/openid-configuration')), {
    issuer: 'https://issuer.example',
    jwks_uri: 'https://127.0.0.1:6443/openid/v1/jwks',
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256', 'RS256'],
  });
  const keys = createLocalJWKSet(JSON.parse(await raw('/openid/v1/jwks')));
  for (const token of tokens) {
    const { payload } = await jwtVerify(token, keys, {
      issuer: 'https://issuer.example',
      audience: 'https://issuer.example',
    });
    assert.equal(payload.sub, 'system:serviceaccount:default:robot');
  }
  // Service accounts may read it; others only when the administrator allows it.
  const stranger = await plane.kubectl(['get', '--raw', '/openid/v1/jwks', '--as=ann']);
  assert.match(stranger.stderr, /User "ann" cannot get path "\/openid\/v1\/jwks"/);
  assert.equal((await bearing(plane, tokens[0]!, 'get', '--raw', '/openid/v1/jwks')).code, 0);
}

function pem({ privateKey, publicKey }: KeyPairKeyObjectResult, algorithm: 'ES256' | 'RS256'): TokenKey {
  return {
    privateKeyPem: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
    publicKeyPem: String(publicKey.export({ type: 'spki', format: 'pem' })),
    algorithm,
  };
}

let plane: ControlPlaneFixture;
let issuer: Issuer;
let directory: string;

interface Issuer {
  readonly caPem: string;
  readonly port: number;
  token(claims: Record<string, unknown>): Promise<string>;
  close(): Promise<void>;
}

/** An OpenID Connect provider over TLS whose issuer name differs from its address. */
async function startIssuer(): Promise<Issuer> {
  const authority = await createTestAuthority('provider CA');
  const { certPem, keyPem } = await authority.issue('CN=issuer', ['127.0.0.1']);
  const pair = rsa();
  const jwk = { ...(await exportJWK(pair.publicKey)), kid: 'k', alg: 'RS256', use: 'sig' };
  let port = 0;
  const sign = (claims: Record<string, unknown>): Promise<string> =>
    new SignJWT({ iss: 'https://login.example', aud: 'cluster', ...claims })
      .setProtectedHeader({ alg: 'RS256', kid: 'k' })
      .setExpirationTime('1h')
      .sign(pair.privateKey);
  const server: Server = createServer({ cert: certPem, key: keyPem }, async (request, response) => {
    const own = `https://127.0.0.1:${port}/staff`;
    if (request.url === '/groups') {
      const known = request.headers.authorization === 'Bearer key of the groups';
      response.writeHead(known ? 200 : 403).end(known ? await sign({ iss: own, groups: ['far', 'away'] }) : '');
      return;
    }
    const documents: Record<string, object> = {
      '/staff/.well-known/openid-configuration': { issuer: own, jwks_uri: `${own}/keys` },
      '/staff/keys': { keys: [jwk] },
      '/tenant/discovery': { issuer: 'https://login.example', jwks_uri: `https://127.0.0.1:${port}/tenant/keys` },
      '/tenant/keys': { keys: [jwk] },
    };
    const found = documents[request.url ?? ''];
    response.writeHead(found === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(found ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
  return {
    caPem: authority.caPem,
    port,
    token: sign,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'keelson-authentication-'));
  issuer = await startIssuer();
  const configuration = {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AuthenticationConfiguration',
    jwt: [
      {
        issuer: {
          url: 'https://login.example',
          discoveryURL: `https://127.0.0.1:${issuer.port}/tenant/discovery`,
          audiences: ['cluster'],
          certificateAuthority: issuer.caPem,
        },
        claimMappings: { username: { claim: 'sub', prefix: 'oidc:' }, groups: { claim: 'groups', prefix: '' } },
      },
      {
        issuer: {
          url: `https://127.0.0.1:${issuer.port}/staff`,
          audiences: ['cluster', 'others'],
          audienceMatchPolicy: 'MatchAny',
          certificateAuthority: issuer.caPem,
        },
        claimMappings: {
          username: { expression: '"staff:" + claims.email.split("@")[0]' },
          groups: { expression: 'claims.teams.map(team, "team-" + team)' },
          uid: { expression: 'claims.sub' },
          extra: [{ key: 'example.com/site', valueExpression: 'has(claims.site) ? claims.site : ""' }],
        },
        claimValidationRules: [
          { expression: 'claims.email_verified', message: 'the address must be verified' },
          { expression: 'claims.exp - claims.nbf <= 7200', message: 'two hours at most' },
        ],
        userValidationRules: [{ expression: '!user.username.startsWith("staff:system")', message: 'reserved name' }],
      },
    ],
  };
  const file = join(directory, 'authentication.yaml');
  await writeFile(file, JSON.stringify(configuration));
  plane = await startControlPlane({ components: false, flags: { 'authentication-config': file } });
});
after(async () => {
  await plane.stop();
  await issuer.close();
  await rm(directory, { recursive: true });
});

test('an OpenID Connect issuer is found by its discovery URL', async () => {
  const token = await issuer.token({ sub: 'ann', groups: ['system:masters'] });
  const said = await bearing(plane, token, ...who);
  assert.equal(said.stdout, 'oidc:ann', said.stderr);
  assert.equal((await bearing(plane, token, 'get', 'namespaces')).code, 0);
  const other = await bearing(plane, await issuer.token({ sub: 'ann', aud: 'elsewhere' }), ...who);
  assert.match(other.stderr, /Unauthorized/i);
});

test('distributed claims of groups are fetched', async () => {
  const pointing = (accessToken: string): Promise<string> =>
    issuer.token({
      sub: 'ann',
      _claim_names: { groups: 'src' },
      _claim_sources: { src: { endpoint: `https://127.0.0.1:${issuer.port}/groups`, access_token: accessToken } },
    });
  const groups = ['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.groups}'];
  const said = await bearing(plane, await pointing('key of the groups'), ...groups);
  assert.deepEqual(JSON.parse(said.stdout || '[]'), ['far', 'away', 'system:authenticated'], said.stderr);
  assert.match((await bearing(plane, await pointing('no key'), ...groups)).stderr, /Unauthorized/i);
});

test('a second issuer: expressions map its claims, and refuse tokens and users', async () => {
  const nbf = Math.floor(Date.now() / 1000);
  const staff = (more: object): Promise<string> =>
    issuer.token({
      iss: `https://127.0.0.1:${issuer.port}/staff`,
      aud: 'others',
      sub: '42',
      email: 'eve@example.com',
      email_verified: true,
      teams: ['a', 'b'],
      nbf,
      ...more,
    });
  const info = ['auth', 'whoami', '-o', 'json'];
  const said = await bearing(plane, await staff({ site: 'north' }), ...info);
  const { status } = JSON.parse(said.stdout || '{}') as { status: { userInfo: Record<string, unknown> } };
  assert.deepEqual(status.userInfo, {
    username: 'staff:eve',
    uid: '42',
    groups: ['team-a', 'team-b', 'system:authenticated'],
    extra: { 'example.com/site': ['north'] },
  });
  for (const wrong of [
    { email_verified: false },
    { nbf: nbf - 7000 },
    { email: 'system@example.com' },
    { teams: 'none' },
    { aud: 'third' },
  ])
    assert.match((await bearing(plane, await staff(wrong), ...info)).stderr, /Unauthorized/i, JSON.stringify(wrong));
});

test('impersonation: names, groups with commas, uid and extra values, each with its own right', async () => {
  const traits = [
    '--as=bob',
    '--as-group=CN=devs,OU=x',
    '--as-group=ops',
    '--as-uid=u-1',
    '--as-user-extra=scopes=a,b',
  ];
  const admin = await plane.kubectl(['auth', 'whoami', '-o', 'jsonpath={.status.userInfo}', ...traits]);
  assert.deepEqual(JSON.parse(admin.stdout), {
    username: 'bob',
    uid: 'u-1',
    groups: ['CN=devs,OU=x', 'ops', 'system:authenticated'],
    extra: { scopes: ['a,b'] },
  });
  const rule = (group: string, resource: string, name: string): object => ({
    apiGroups: [group],
    resources: [resource],
    verbs: ['impersonate'],
    resourceNames: [name],
  });
  const names = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name: 'actor' } };
  const rules = [
    rule('', 'users', 'bob'),
    rule('', 'groups', 'CN=devs,OU=x'),
    rule('authentication.k8s.io', 'uids', 'u-1'),
    rule('authentication.k8s.io', 'userextras/scopes', 'a,b'),
  ];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'actor' };
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'oidc:ann' }];
  for (const object of [
    { ...names, kind: 'ClusterRole', rules },
    { ...names, kind: 'ClusterRoleBinding', roleRef, subjects },
  ])
    assert.equal((await plane.kubectl(['create', '-f', '-'], JSON.stringify(object))).code, 0);
  const token = await issuer.token({ sub: 'ann' });
  const as = (...flags: string[]) => bearing(plane, token, 'get', '--raw', '/version', ...flags);
  const allowed = await as('--as=bob', '--as-group=CN=devs,OU=x', '--as-uid=u-1', '--as-user-extra=scopes=a,b');
  assert.equal(allowed.code, 0, allowed.stderr);
  const refused: readonly [readonly string[], RegExp][] = [
    [['--as=eve'], /users "eve" is forbidden: User "oidc:ann" cannot impersonate resource "users" in API group ""/],
    [['--as=bob', '--as-group=CN=devs'], /groups "CN=devs" is forbidden/],
    [['--as=bob', '--as-uid=u-2'], /uids\.authentication\.k8s\.io "u-2" is forbidden/],
    [['--as=bob', '--as-user-extra=scopes=a'], /userextras\.authentication\.k8s\.io "a" is forbidden/],
    [
      ['--as=bob', '--as-user-extra=other=a'],
      /userextras\.authentication\.k8s\.io "a" is forbidden.*"userextras\/other"/,
    ],
    [['--as=system:serviceaccount:default:robot'], /serviceaccounts "robot" is forbidden/],
  ];
  for (const [flags, message] of refused) assert.match((await as(...flags)).stderr, message);
});
