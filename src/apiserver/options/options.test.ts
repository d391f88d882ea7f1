import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defined } from '../../base/defined-fixture.ts';
import { defaultAdmissionPlugins } from '../admission/plugin-names.ts';
import { parseApiServerOptions } from './api-server-options.ts';
import { type FlagValues, OptionsError } from './flags.ts';

test('the defaults', () => {
  const { admission, authentication, authorization, audit, limits, nodePorts, tracing } = parseApiServerOptions({});
  assert.deepEqual(tracing, { configFile: undefined });
  assert.deepEqual(admission.plugins, defaultAdmissionPlugins);
  assert.ok(defaultAdmissionPlugins.includes('PodSecurity') && !defaultAdmissionPlugins.includes('AlwaysPullImages'));
  assert.deepEqual(defined(authentication), { anonymous: true });
  assert.deepEqual(authorization, { modes: ['Node', 'RBAC'] });
  assert.deepEqual(defined(audit), {});
  assert.deepEqual(limits, {
    maxRequestsInFlight: 400,
    maxMutatingRequestsInFlight: 200,
    priorityAndFairness: true,
    requestTimeoutMs: 60_000,
  });
  assert.deepEqual(nodePorts, { first: 30_000, last: 32_767 });
});

test('admission plugins are enabled and disabled, or listed exactly', () => {
  const plugins = (values: FlagValues): readonly string[] => parseApiServerOptions(values).admission.plugins;
  const changed = plugins({
    'enable-admission-plugins': ['AlwaysPullImages,PodSecurity'],
    'disable-admission-plugins': 'Priority',
  });
  assert.ok(changed.includes('AlwaysPullImages') && !changed.includes('Priority'));
  assert.equal(changed.length, defaultAdmissionPlugins.length);
  assert.deepEqual(plugins({ 'admission-control': 'NamespaceLifecycle,ResourceQuota' }), [
    'NamespaceLifecycle',
    'ResourceQuota',
  ]);
});

test('OpenID Connect: names are prefixed with the issuer by default', () => {
  const base = { 'oidc-issuer-url': 'https://i.example', 'oidc-client-id': 'c' };
  const oidc = (values: FlagValues) => parseApiServerOptions({ ...base, ...values }).authentication.oidc;
  assert.equal(oidc({})?.usernamePrefix, 'https://i.example#');
  assert.equal(oidc({ 'oidc-username-claim': 'email' })?.usernamePrefix, '');
  assert.equal(oidc({ 'oidc-username-prefix': '-' })?.usernamePrefix, '');
  assert.deepEqual(oidc({ 'oidc-required-claim': ['a=b', 'c=d=e'] })?.requiredClaims, { a: 'b', c: 'd=e' });
});

test('the console signs in by OpenID Connect only as a client that is named for it', () => {
  const base = { 'oidc-issuer-url': 'https://i.example', 'oidc-client-id': 'c' };
  const client = (values: FlagValues) => parseApiServerOptions(values).authentication.console;
  assert.equal(client({}), undefined);
  assert.equal(client(base), undefined, 'the issuer may know no client with the redirect URI');
  assert.equal(client({ 'authentication-config': 'f' }), undefined, 'an audience need not be a client');
  const named = { ...base, 'console-oidc-client-id': 'c' };
  assert.deepEqual(client(named), { clientId: 'c', clientSecretFile: undefined, redirectOrigins: undefined });
  assert.equal(client({ 'authentication-config': 'f', 'console-oidc-client-id': 'd' })?.clientId, 'd');
  assert.equal(client({ ...named, 'console-oidc-client-secret-file': 's' })?.clientSecretFile, 's');
  const origins = ['https://Console.Example.com:443/', 'https://10.0.0.1:6443,https://[FD00::1]:6443'];
  assert.deepEqual(client({ ...named, 'console-oidc-redirect-origin': origins })?.redirectOrigins, [
    'https://console.example.com',
    'https://10.0.0.1:6443',
    'https://[fd00::1]:6443',
  ]);
});

test('limits: 0 means no limit, except for shared ones', () => {
  const none = { 'max-requests-inflight': '0', 'max-mutating-requests-inflight': '0' };
  assert.deepEqual(parseApiServerOptions({ ...none, 'enable-priority-and-fairness': 'false' }).limits, {
    maxRequestsInFlight: 0,
    maxMutatingRequestsInFlight: 0,
    priorityAndFairness: false,
    requestTimeoutMs: 60_000,
  });
  assert.throws(() => parseApiServerOptions(none), /^OptionsError: --max-requests-inflight .* must be positive/);
});

const wrong: readonly [FlagValues, RegExp][] = [
  [
    { 'enable-admission-plugins': 'Nope' },
    /^--enable-admission-plugins: enable-admission-plugins plugin "Nope" is unknown; there are AlwaysAdmit, /,
  ],
  [{ 'enable-admission-plugins': 'Priority', 'disable-admission-plugins': 'Priority' }, /overlapped$/],
  [{ 'admission-control': 'Priority', 'disable-admission-plugins': 'LimitRanger' }, /mutually exclusive$/],
  [{ 'enable-admission-plugins': 'EventRateLimit' }, /EventRateLimit needs its limits/],
  [{ 'max-requests-inflight': '-1' }, /^--max-requests-inflight: -1 is not a number of at least 0$/],
  [{ 'service-node-port-range': '30000' }, /^--service-node-port-range: 30000 is no port range such as 30000-32767$/],
  [{ 'service-node-port-range': '30-20' }, /is no port range/],
  [{ 'service-node-port-range': '65000+600' }, /is no port range/],
  [{ 'anonymous-auth': 'yes' }, /^--anonymous-auth: yes is neither true nor false$/],
  [{ 'oidc-issuer-url': 'https://x' }, /must be specified together/],
  [{ 'oidc-issuer-url': 'http://x', 'oidc-client-id': 'c' }, /is not an https URL$/],
  [{ 'console-oidc-client-id': 'c' }, /^--console-oidc-client-id: needs --oidc-issuer-url or --authentication-config$/],
  [
    { 'oidc-issuer-url': 'https://x', 'oidc-client-id': 'c', 'console-oidc-client-id': 'd' },
    /^--console-oidc-client-id: tokens for d are not accepted: --oidc-client-id is c$/,
  ],
  [
    { 'oidc-issuer-url': 'https://x', 'oidc-client-id': 'c', 'console-oidc-client-secret-file': 'f' },
    /^--console-oidc-client-secret-file: needs --console-oidc-client-id$/,
  ],
  [
    { 'console-oidc-redirect-origin': ['https://x'] },
    /^--console-oidc-redirect-origin: needs --console-oidc-client-id$/,
  ],
  ...['http://x', 'x.example', 'https://x/console', 'https://x?a', 'https://u@x', 'https://*.example', 'https://'].map(
    (origin): [FlagValues, RegExp] => [
      {
        ...{ 'oidc-issuer-url': 'https://x', 'oidc-client-id': 'c' },
        ...{ 'console-oidc-client-id': 'c', 'console-oidc-redirect-origin': [origin] },
      },
      /^--console-oidc-redirect-origin: \S+ is not an https origin such as https:\/\/console\.example\.com$/,
    ],
  ),
  [
    { 'oidc-issuer-url': 'https://x', 'oidc-client-id': 'c', 'oidc-signing-algs': 'none' },
    /^--oidc-signing-algs: none is none of RS256/,
  ],
  [{ 'authorization-mode': 'RBAC,Magic' }, /^--authorization-mode: Magic is not a valid mode; there are Node, RBAC/],
  [{ 'authorization-mode': 'RBAC,RBAC' }, /more than once$/],
  [{ 'authorization-mode': 'Webhook' }, /^--authorization-webhook-config-file/],
  [{ 'authentication-token-webhook-cache-ttl': 'soon' }, /is not a duration/],
  [{ 'audit-log-path': '/l', 'audit-log-format': 'xml' }, /xml is none of json, legacy$/],
  [{ 'audit-log-path': '/l', 'audit-log-maxsize': '-1' }, /^--audit-log-maxsize: -1 is not a number/],
];

for (const [values, message] of wrong)
  test(`refused: ${JSON.stringify(values)}`, () => {
    assert.throws(
      () => parseApiServerOptions(values),
      (error: Error) => error instanceof OptionsError && message.test(error.message),
    );
  });
