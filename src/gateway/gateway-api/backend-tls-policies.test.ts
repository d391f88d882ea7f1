/** BackendTLSPolicy: the verification of backends, and the status with upstream's reasons. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { Stored } from '../../api/object.ts';
import { allSteps } from '../../base/steps.ts';
import { readIssuer } from '../../component-helpers/pki/read-certificate.ts';
import { createTestAuthority } from '../../platform/node/certificates-fixture.ts';
import { SharedHosts } from '../snapshot/host-claims.ts';
import { SecretCertificates } from '../snapshot/secret-certificates.ts';
import { placePolicies } from './backend-tls-policies.ts';
import { buildGateways } from './build-gateways.ts';
import { CaCertificateCache } from './ca-certificates.ts';
import { policyAncestors } from './status-objects.ts';
import type { BackendTlsPolicy } from './types.ts';

let caPem = '';
before(async () => {
  ({ caPem } = await createTestAuthority('test'));
});

let reads = 0;
const cache = new CaCertificateCache((pem) => {
  reads++;
  return readIssuer(pem);
});

const metadata = (name: string, age = 0) => ({
  name,
  namespace: 'ns',
  uid: name,
  resourceVersion: '1',
  generation: 2,
  creationTimestamp: `2026-01-01T00:00:0${age}Z`,
});

const policy = (
  name: string,
  {
    age = 0,
    target = 's',
    sectionName,
    ...validation
  }: { age?: number; target?: string; sectionName?: string } & Partial<BackendTlsPolicy['spec']['validation']> = {},
) =>
  ({
    metadata: metadata(name, age),
    spec: {
      targetRefs: [{ group: '', kind: 'Service', name: target, sectionName }],
      validation: {
        hostname: 'inner.example',
        caCertificateRefs: [{ group: '', kind: 'ConfigMap', name: 'ca' }],
        ...validation,
      },
    },
  }) as Stored<BackendTlsPolicy>;

function build(policies: readonly Stored<BackendTlsPolicy>[], { port = 80, kind = 'HTTPRoute' } = {}) {
  const gateway = {
    metadata: metadata('g'),
    spec: { gatewayClassName: 'keelson', listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }] },
  };
  const route = {
    metadata: metadata('r'),
    spec: { parentRefs: [{ name: 'g' }], rules: [{ backendRefs: [{ name: 's', port }] }] },
  };
  const ports = [
    { name: 'web', port: 80 },
    { name: 'grpc', port: 81, appProtocol: 'kubernetes.io/h2c' },
  ];
  const built = allSteps(
    buildGateways(
      {
        gateways: [gateway] as never,
        httpRoutes: (kind === 'HTTPRoute' ? [route] : []) as never,
        grpcRoutes: (kind === 'GRPCRoute' ? [route] : []) as never,
        tlsRoutes: [],
        backendTlsPolicies: policies,
        authoritiesIn: (_namespace, name) => {
          const texts = { ca: caPem, many: caPem.repeat(60), empty: 'nothing', bad: caPem.replace('MII', 'AAA') };
          const text = new Map(Object.entries(texts)).get(name);
          return text === undefined ? undefined : cache.read(text);
        },
        grants: [],
        labelsOfNamespace: () => ({}),
      },
      {
        view: {
          service: (_namespace, name) => (name === 's' ? { metadata: { name }, spec: { ports } } : undefined),
          slicesOf: () => [],
          secret: () => undefined,
        },
        certificates: new SecretCertificates(() => []),
        taken: new Map(),
        shared: new SharedHosts([], new Map()),
        portUser: () => undefined,
        addresses: [],
        openPorts: new Set(),
      },
    ),
  );
  const [placed] = built.ports[0]!.routes;
  return {
    backend: built.backends[placed!.rule.backends[0]!.backend],
    reasons: built.policies.map(({ conditions }) =>
      conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`),
    ),
    policies: built.policies,
    route: built.routes[0]!.parents[0]!.conditions.map(({ type, status }) => `${type}=${status}`),
  };
}

const ACCEPTED = ['Accepted=True Accepted', 'ResolvedRefs=True ResolvedRefs'];

describe('an accepted policy', () => {
  test('has its backend verified by host name and authorities', () => {
    const { backend, reasons, policies } = build([policy('p')]);
    assert.equal(backend?.protocol, 'https');
    assert.equal(backend?.verification?.serverName, 'inner.example');
    assert.equal(backend?.verification?.caPem, caPem.trim());
    assert.deepEqual(reasons, [ACCEPTED]);
    assert.deepEqual(
      policies[0]!.gateways.map(({ metadata: { name } }) => name),
      ['g'],
    );
  });

  test("with alternative names and the system's authorities is verified by those", () => {
    const subjectAltNames = [
      { type: 'Hostname', hostname: 'Alt.example' },
      { type: 'URI', uri: 'spiffe://x/y' },
    ];
    const { backend, reasons } = build([
      policy('p', { caCertificateRefs: [], wellKnownCACertificates: 'System', subjectAltNames }),
    ]);
    assert.deepEqual(backend?.verification, {
      serverName: 'inner.example',
      caPem: undefined,
      altNames: [
        { type: 'DNS', value: 'alt.example' },
        { type: 'URI', value: 'spiffe://x/y' },
      ],
    });
    assert.deepEqual(reasons, [ACCEPTED]);
  });

  test('keeps HTTP/2', () => {
    assert.equal(build([policy('p')], { port: 81 }).backend?.protocol, 'h2');
    assert.equal(build([policy('p')], { kind: 'GRPCRoute' }).backend?.protocol, 'h2');
    assert.equal(build([], { port: 81 }).backend?.protocol, 'h2c');
  });

  test('for a port has precedence over one for the whole service, and applies only to that port', () => {
    const both = [policy('all'), policy('one', { age: 1, sectionName: 'web', hostname: 'web.example' })];
    assert.equal(build(both).backend?.verification?.serverName, 'web.example');
    assert.equal(build(both, { port: 81 }).backend?.verification?.serverName, 'inner.example');
    assert.deepEqual(build(both).reasons, [ACCEPTED, ACCEPTED]);
  });
});

describe('a policy that is not accepted', () => {
  const [noAuthority, badRef] = ['Accepted=False NoValidCACertificate', 'ResolvedRefs=False InvalidCACertificateRef'];
  const named = (name: string, kind = 'ConfigMap') => ({ caCertificateRefs: [{ group: '', kind, name }] });
  const cases: readonly (readonly [what: string, ReturnType<typeof policy>, readonly string[]])[] = [
    ['no config map', policy('p', named('missing')), [noAuthority, badRef]],
    ['no certificate', policy('p', named('empty')), [noAuthority, badRef]],
    ['a certificate that cannot be read', policy('p', named('bad')), [noAuthority, badRef]],
    ['another kind', policy('p', named('ca', 'Secret')), [noAuthority, 'ResolvedRefs=False InvalidKind']],
    [
      'other well-known certificates',
      policy('p', { caCertificateRefs: [], wellKnownCACertificates: 'x.example/y' }),
      ['Accepted=False Invalid', ACCEPTED[1]!],
    ],
  ];
  for (const [what, one, expected] of cases)
    test(`${what}: nothing reaches the backend; the policy reports the reason, the route does not`, () => {
      const { backend, reasons, route } = build([one]);
      assert.equal(backend, undefined);
      assert.deepEqual(reasons, [expected]);
      assert.deepEqual(route, ['Accepted=True', 'ResolvedRefs=True']);
    });

  test('with some unresolved references uses the others', () => {
    const refs = ['ca', 'missing'].map((name) => ({ group: '', kind: 'ConfigMap', name }));
    const { backend, reasons } = build([policy('p', { caCertificateRefs: refs })]);
    assert.equal(backend?.verification?.caPem, caPem.trim());
    assert.deepEqual(reasons, [[ACCEPTED[0], badRef]]);
  });

  test('a younger policy for the same target is in conflict, in any order of arrival', () => {
    const { backend, reasons } = build([
      policy('late', { age: 2, hostname: 'late.example' }),
      policy('early', { age: 1 }),
    ]);
    assert.equal(backend?.verification?.serverName, 'inner.example');
    assert.deepEqual(reasons, [ACCEPTED, ['Accepted=False Conflicted', ACCEPTED[1]]]);
  });

  test('a missing target', () => {
    assert.equal(build([policy('p', { sectionName: 'no' })]).reasons[0]?.[0], 'Accepted=False TargetNotFound');
    const { policies, backend } = build([policy('p', { target: 'other' })]);
    assert.deepEqual(policies, []);
    assert.equal(backend?.protocol, 'http');
  });

  test('a missing target beside an existing one: the policy applies to the existing one and reports the other', () => {
    const both = policy('p');
    const targetRefs = [...both.spec.targetRefs, { group: '', kind: 'Service', name: 'gone' }];
    const { policies, reasons, backend } = build([{ ...both, spec: { ...both.spec, targetRefs } }]);
    assert.equal(reasons[0]?.[0], 'Accepted=False TargetNotFound');
    assert.equal(
      policies[0]?.conditions[0]?.message,
      'service gone does not exist; the policy holds for its targets that exist',
    );
    assert.equal(backend?.verification?.serverName, 'inner.example');
  });

  test('more than a hundred certificates', () => {
    const refs = ['many', 'many'].map((name) => ({ group: '', kind: 'ConfigMap', name }));
    const { policies, reasons, backend } = build([policy('p', { caCertificateRefs: refs })]);
    assert.equal(reasons[0]?.[0], 'Accepted=False Invalid');
    assert.equal(policies[0]?.conditions[0]?.message, 'its config maps have 120 certificates, more than 100');
    assert.equal(backend, undefined);
  });
});

describe('the certificates of authorities', () => {
  test('are parsed only for policies of Services that routes refer to, and once while the text stays', () => {
    const others = Array.from({ length: 50 }, (_, at) => policy(`p${at}`, { target: `other${at}` }));
    const before = reads;
    cache.read(caPem.replace('\n', '\n\n'));
    assert.equal(reads, before + 1);
    build([...others, policy('p')]);
    build([...others, policy('p')]);
    assert.ok(reads <= before + 2);
    assert.equal(build(others).policies.length, 0);
  });

  test('are evicted beyond 256 texts', () => {
    let count = 0;
    const own = new CaCertificateCache(() => count++);
    const text = (at: number): string => `${at}\n-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----`;
    for (let at = 0; at < 257; at++) own.read(text(at));
    own.read(text(256));
    assert.equal(count, 257);
    own.read(text(0));
    assert.equal(count, 258);
  });

  test('each policy is resolved in a step of its own', () => {
    const policies = Array.from({ length: 20 }, (_, at) => policy(`p${at}`, { sectionName: `port${at}` }));
    const context = { service: () => undefined, authoritiesIn: () => undefined };
    const resolving = allSteps(placePolicies(policies, context)).resolve(['ns/s', 'ns/s']);
    assert.equal([...resolving].length, 20);
  });
});

test('the status has an entry for each Gateway; entries of other controllers stay, and obsolete ones of ours are removed', () => {
  const others = Array.from({ length: 15 }, (_, at) => ({
    ancestorRef: { name: `other${at}` },
    controllerName: 'x.example/c',
    conditions: [],
  }));
  const own = { ancestorRef: { name: 'gone', namespace: 'ns' }, controllerName: 'keelson.dev/gateway', conditions: [] };
  const [verdict] = build([policy('p')]).policies;
  const before = { ...policy('p'), status: { ancestors: [own, ...others] } };
  const after = policyAncestors(before, verdict, '2026-01-01T00:00:09Z');
  assert.equal(after.length, 16);
  assert.deepEqual(after.slice(0, 15), others);
  assert.deepEqual(after.at(-1)?.ancestorRef, {
    group: 'gateway.networking.k8s.io',
    kind: 'Gateway',
    namespace: 'ns',
    name: 'g',
  });
  assert.equal(after.at(-1)?.conditions?.[0]?.observedGeneration, 2);
  assert.deepEqual(policyAncestors(before, undefined, ''), others);
  const [first] = others;
  assert.equal(policyAncestors({ ...before, status: { ancestors: [...others, first!] } }, verdict, '').length, 16);
});
