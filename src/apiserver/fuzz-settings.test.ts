/** Random command lines and configuration files, by a seed: accepted, or refused in one line, never a crash. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { FlagError } from '../component-helpers/command-line/flags.ts';
import { readAdmissionConfig } from './admission/admission-config.ts';
import { checkPolicy, decideAudit } from './audit/policy.ts';
import { readAuthenticationConfig } from './authn/authentication-config.ts';
import { readAuthorizationConfig } from './authz/authorization-config.ts';
import { compileWebhookConditions } from './authz/webhook-conditions.ts';
import { apiServerFlags, parseApiServerOptions } from './command-line/list.ts';
import { oddChanges, spoiled } from './fuzz-fixture.ts';
import type { RequestScope } from './request-scope.ts';

const SEED = 20_260_101;

function tell(t: TestContext, counts: { taken: number; refused: number }): void {
  t.diagnostic(`taken: ${counts.taken}, refused: ${counts.refused}`);
  assert.ok(counts.taken > 0 && counts.refused > 0, 'both happen');
}

const values = fc.oneof(
  fc.constantFrom(
    '',
    '0',
    '-1',
    '1',
    'true',
    'false',
    '1s',
    '-5m',
    '1e9',
    '99999999999',
    'NaN',
    '/f',
    'a=b',
    ',',
    ':',
    '::',
  ),
  fc.constantFrom(
    '10.0.0.0/24',
    'fd00::/112',
    '127.0.0.1',
    'https://x',
    'RBAC,Node',
    '__proto__',
    'a,b:c,d',
    '^(',
    '//a:',
  ),
  fc.string({ maxLength: 20 }),
);
const flag = fc.tuple(fc.constantFrom(...apiServerFlags.map(({ name }) => name), 'constructor', 'v', 'x'), values);

test('command lines', (t) => {
  const counts = { taken: 0, refused: 0 };
  const needed = [
    '--etcd-servers=http://a:1',
    '--service-account-issuer=https://i',
    '--service-account-signing-key-file=/k',
  ];
  fc.assert(
    fc.property(fc.array(fc.tuple(flag, fc.boolean()), { minLength: 1, maxLength: 4 }), (given) => {
      const args = given.flatMap(([[name, value], joined]) => (joined ? [`--${name}=${value}`] : [`--${name}`, value]));
      try {
        parseApiServerOptions([...needed, ...args]);
        counts.taken++;
      } catch (error) {
        if (!(error instanceof FlagError) || error.message.includes('\n  at')) throw error;
        counts.refused++;
      }
    }),
    { seed: SEED, numRuns: 3000 },
  );
  tell(t, counts);
});

const rule = { level: 'Metadata', users: ['a'], verbs: ['get'], resources: [{ group: '', resources: ['pods'] }] };
const webhook = {
  timeout: '3s',
  subjectAccessReviewVersion: 'v1',
  matchConditionSubjectAccessReviewVersion: 'v1',
  failurePolicy: 'Deny',
  connectionInfo: { type: 'KubeConfigFile', kubeConfigFile: '/k' },
  matchConditions: [{ expression: 'request.user == "a"' }],
};
const issuer = {
  issuer: { url: 'https://i', audiences: ['a', 'b'], audienceMatchPolicy: 'MatchAny', discoveryURL: 'https://d' },
  claimMappings: {
    username: { expression: 'claims.sub' },
    groups: { claim: 'groups', prefix: 'p:' },
    extra: [{ key: 'a.io/b', valueExpression: 'claims.x' }],
  },
  claimValidationRules: [{ expression: 'claims.hd == "x"', message: 'm' }],
  userValidationRules: [{ expression: '!user.username.startsWith("system:")' }],
};
const info = { isResourceRequest: true, verb: 'get', namespace: 'n', resource: 'pods', apiGroup: '', subresource: '' };
const asked = [
  { ...info, name: 'p' },
  { isResourceRequest: false, verb: 'get', path: '/x' },
].map((one) => ({ user: { name: 'a', groups: ['g'] }, info: one }) as unknown as RequestScope);

/** Evaluates an accepted policy. */
function usePolicy(value: unknown): void {
  const policy = checkPolicy(value);
  for (const scope of asked) decideAudit(policy, scope);
}

function useIssuers(value: unknown): void {
  for (const { expressions } of readAuthenticationConfig(value).issuers) {
    const claims = { sub: 'a', groups: ['b'], x: 'y', hd: 'x' };
    try {
      const [name = 'a', groups = []] = [expressions?.username?.(claims), expressions?.groups?.(claims)];
      expressions?.checkClaims(claims);
      expressions?.checkUser({ name, groups, extra: expressions.extra(claims) });
    } catch (error) {
      if (error instanceof TypeError) throw error; // Others refuse the token.
    }
  }
}

const files: readonly (readonly [good: object, read: (value: unknown) => unknown])[] = [
  [{ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', omitStages: ['RequestReceived'], rules: [rule] }, usePolicy],
  [
    {
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'AuthorizationConfiguration',
      authorizers: [
        { type: 'Webhook', name: 'w', webhook },
        { type: 'RBAC', name: 'r' },
      ],
    },
    (value) => {
      for (const one of readAuthorizationConfig(value))
        if (one.type === 'Webhook') compileWebhookConditions(one.conditions);
    },
  ],
  [
    {
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'AuthenticationConfiguration',
      jwt: [issuer],
      anonymous: { enabled: true, conditions: [{ path: '/livez' }] },
    },
    useIssuers,
  ],
  [
    {
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'AdmissionConfiguration',
      plugins: [
        {
          name: 'PodSecurity',
          configuration: {
            apiVersion: 'pod-security.admission.config.k8s.io/v1',
            kind: 'PodSecurityConfiguration',
            defaults: { enforce: 'baseline', 'enforce-version': 'latest' },
            exemptions: { namespaces: ['a'] },
          },
        },
      ],
    },
    (value) =>
      readAdmissionConfig(
        value,
        () => Promise.reject(new Error('no file')),
        () => Promise.reject(new Error('none')),
      ),
  ],
];

test('configuration files', async (t) => {
  const counts = { taken: 0, refused: 0 };
  for (const [good, read] of files) await read(good);
  await fc.assert(
    fc.asyncProperty(fc.nat(files.length - 1), oddChanges, async (at, changes) => {
      const [good, read] = files[at]!;
      const value = spoiled(good, changes);
      try {
        await read(value);
        counts.taken++;
      } catch (error) {
        const crashed = !(error instanceof Error) || error instanceof TypeError || error instanceof RangeError;
        if (crashed) throw new Error(`${stringify(value)}: ${String(error)}`, { cause: error });
        counts.refused++;
      }
    }),
    { seed: SEED, numRuns: 3000 },
  );
  tell(t, counts);
});
