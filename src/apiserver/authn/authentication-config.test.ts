import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defined } from '../../base/defined-fixture.ts';
import { readAuthenticationConfig } from './authentication-config.ts';

const issuer = { url: 'https://i', audiences: ['a'] };
const claimMappings = { username: { claim: 'sub', prefix: '' } };

function configuration(parts: object): object {
  return { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AuthenticationConfiguration', ...parts };
}

const one = (parts: object = {}): object => configuration({ jwt: [{ issuer, claimMappings, ...parts }] });

test('an authentication configuration', () => {
  const groups = { claim: 'groups', prefix: 'g:' };
  const read = readAuthenticationConfig(
    configuration({
      jwt: [
        {
          issuer: {
            ...issuer,
            audiences: ['a', 'b'],
            audienceMatchPolicy: 'MatchAny',
            certificateAuthority: 'PEM',
            discoveryURL: 'https://d/x',
          },
          claimMappings: { username: { claim: 'email', prefix: 'u:' }, groups },
          claimValidationRules: [{ claim: 'tenant', requiredValue: 't' }],
        },
      ],
      anonymous: { enabled: true, conditions: [{ path: '/livez' }] },
    }),
  );
  const [{ signingAlgorithms, ...first }] = read.issuers as [(typeof read.issuers)[number]];
  assert.deepEqual(defined(first), {
    issuerUrl: 'https://i',
    discoveryUrl: 'https://d/x',
    clientId: ['a', 'b'],
    usernameClaim: 'email',
    usernamePrefix: 'u:',
    groupsClaim: 'groups',
    groupsPrefix: 'g:',
    requiredClaims: { tenant: 't' },
    caPem: 'PEM',
  });
  assert.ok(signingAlgorithms.includes('ES256') && !signingAlgorithms.includes('HS256'));
  assert.deepEqual(read.anonymous, { enabled: true, paths: ['/livez'] });
  assert.deepEqual(defined(readAuthenticationConfig(configuration({}))), { issuers: [] });
});

test('errors of an authentication configuration', async (t) => {
  const extra = (key: string, valueExpression: string) =>
    one({ claimMappings: { ...claimMappings, extra: [{ key, valueExpression }] } });
  const discovery = (discoveryURL: string) => one({ issuer: { ...issuer, discoveryURL } });
  const username = (parts: object) => one({ claimMappings: { username: parts } });
  const cases: readonly (readonly [object, RegExp])[] = [
    [{ kind: 'Other' }, /is not apiserver.config.k8s.io\/v1 AuthenticationConfiguration/],
    [configuration({ jwt: [{ claimMappings }] }), /^jwt\[0\].issuer: Required value$/],
    [
      one({ issuer: { ...issuer, url: 'http://i' } }),
      /issuer.url: Invalid value: "http:\/\/i": URL scheme must be https$/,
    ],
    [one({ issuer: { ...issuer, audiences: [] } }), /issuer.audiences: Required value/],
    [
      one({ issuer: { ...issuer, audiences: ['a', 'b'] } }),
      /audienceMatchPolicy must be MatchAny for multiple audiences$/,
    ],
    [
      discovery('https://i/'),
      /issuer.discoveryURL: Invalid value: "https:\/\/i\/": discoveryURL must be different from URL$/,
    ],
    [discovery('http://d'), /issuer.discoveryURL: Invalid value: "http:\/\/d": URL scheme must be https$/],
    [discovery('https://u@d'), /discoveryURL: .*: URL must not contain a username or password$/],
    [discovery('https://d?a=b'), /discoveryURL: .*: URL must not contain a query$/],
    [discovery('https://d#a'), /discoveryURL: .*: URL must not contain a fragment$/],
    [one({ issuer: { ...issuer, egressSelectorType: 'cluster' } }), /issuer.egressSelectorType is not supported$/],
    [
      configuration({
        jwt: ['https://i', 'https://j'].map((url) => ({
          issuer: { ...issuer, url, discoveryURL: 'https://d' },
          claimMappings,
        })),
      }),
      /^jwt\[1\].issuer.discoveryURL: Duplicate value: "https:\/\/d"$/,
    ],
    [
      configuration({
        jwt: [
          { issuer, claimMappings },
          { issuer, claimMappings },
        ],
      }),
      /^jwt\[1\].issuer.url: Duplicate value/,
    ],
    [username({ claim: 'sub' }), /username.prefix: Required value/],
    [username({ prefix: '' }), /username: Required value: claim or expression is required$/],
    [username({ expression: 'claims.' }), /username.expression: Invalid value: "claims.": compilation failed/],
    [
      username({ expression: 'claims.sub', prefix: '' }),
      /username: Invalid value: expression excludes claim and prefix$/,
    ],
    ...['claims.email', 'claims.?email.orValue("")', "claims['email']", 'claims[?"email"].value()'].map(
      (expression): [object, RegExp] => [
        username({ expression }),
        /claims.email_verified must be used in claimMappings.username.expression/,
      ],
    ),
    [one({ claimMappings: { ...claimMappings, uid: {} } }), /uid: Invalid value: exactly one of claim and expression/],
    [extra('Acme.io/a', 'claims.a'), /extra\[0\].key: Invalid value: "Acme.io\/a": key must be lowercase$/],
    [extra('x.k8s.io/a', 'claims.a'), /reserved for Kubernetes use$/],
    [extra('a', 'claims.a'), /must be a domain-prefixed path/],
    [extra('acme.io/a', ''), /valueExpression: Required value/],
    [
      one({ claimValidationRules: [{ expression: '1' }] }),
      /claimValidationRules\[0\].expression: Invalid value: "1": must evaluate to bool$/,
    ],
    [
      one({ claimValidationRules: [{ expression: 'true', claim: 'a' }] }),
      /claimValidationRules\[0\]: Invalid value: expression excludes claim and requiredValue$/,
    ],
    [one({ userValidationRules: [{ expression: 'claims.a' }] }), /userValidationRules\[0\].expression: Invalid value/],
    [
      configuration({ anonymous: { enabled: false, conditions: [{ path: '/' }] } }),
      /enabled should be set to true when conditions are defined$/,
    ],
  ];
  for (const [value, expected] of cases)
    await t.test(String(expected), () => assert.throws(() => readAuthenticationConfig(value), { message: expected }));
});

test('unknown fields of an authentication configuration are refused at any depth', async (t) => {
  const mapping = (parts: object) => one({ claimMappings: { ...claimMappings, ...parts } });
  const cases: readonly (readonly [object, string])[] = [
    [configuration({ JWT: [] }), 'JWT'],
    [configuration({ anonymous: { enable: true } }), 'anonymous.enable'],
    [configuration({ anonymous: { enabled: true, condition: [] } }), 'anonymous.condition'],
    [
      configuration({ anonymous: { enabled: true, conditions: [{ path: '/', paths: [] }] } }),
      'anonymous.conditions[0].paths',
    ],
    [one({ claimValidationRule: [] }), 'jwt[0].claimValidationRule'],
    [one({ issuer: { ...issuer, certificateAuthorities: 'x' } }), 'jwt[0].issuer.certificateAuthorities'],
    [mapping({ group: {} }), 'jwt[0].claimMappings.group'],
    [mapping({ username: { claim: 'sub', prefix: '', prefx: '' } }), 'jwt[0].claimMappings.username.prefx'],
    [mapping({ groups: { expresion: 'claims.g' } }), 'jwt[0].claimMappings.groups.expresion'],
    [mapping({ uid: { claim: 'a', prefix: '' } }), 'jwt[0].claimMappings.uid.prefix'],
    [mapping({ extra: [{ key: 'acme.io/a', expression: 'claims.a' }] }), 'jwt[0].claimMappings.extra[0].expression'],
    [one({ claimValidationRules: [{ claim: 'a', requiredVale: 'b' }] }), 'jwt[0].claimValidationRules[0].requiredVale'],
    [one({ userValidationRules: [{ expresion: 'false' }] }), 'jwt[0].userValidationRules[0].expresion'],
  ];
  for (const [value, field] of cases)
    await t.test(field, () =>
      assert.throws(() => readAuthenticationConfig(value), {
        message: `strict decoding error: unknown field ${JSON.stringify(field)}`,
      }),
    );
  await t.test('a rule without its expression', () =>
    assert.throws(() => readAuthenticationConfig(one({ userValidationRules: [{ message: 'no' }] })), {
      message: 'jwt[0].userValidationRules[0].expression: Required value',
    }),
  );
});
