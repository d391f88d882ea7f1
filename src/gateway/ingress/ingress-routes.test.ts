/** The backend of an ingress that a request reaches: upstream's table of path types, hosts, precedence, and problems. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Service } from '../../api/gen/core-v1.ts';
import type { EndpointSlice } from '../../api/gen/discovery-v1.ts';
import type { HTTPIngressPath, Ingress, IngressSpec } from '../../api/gen/networking-v1.ts';
import type { Stored } from '../../api/object.ts';
import { allSteps } from '../../base/steps.ts';
import { RouteTable } from '../data-plane/route-table.ts';
import { acceptIngresses } from '../snapshot/accept-ingresses.ts';
import { buildSnapshot, type BuiltSnapshot } from '../snapshot/build-snapshot.ts';
import type { ClusterView } from '../snapshot/cluster-view.ts';
import { SharedHosts } from '../snapshot/host-claims.ts';
import { SecretCertificates } from '../snapshot/secret-certificates.ts';
import { listenersOf } from '../snapshot/snapshot-fixture.ts';

const service = (parts: Partial<NonNullable<Service['spec']>> = {}): Service => ({
  metadata: { name: 's', namespace: 'ns' },
  spec: { ports: [{ name: 'http', port: 80 }], ...parts },
});

const slice = (parts: Partial<EndpointSlice> = {}): EndpointSlice => ({
  metadata: { name: 'x', namespace: 'ns' },
  addressType: 'IPv4',
  ports: [{ name: 'http', port: 8080 }],
  endpoints: [{ addresses: ['10.0.0.1'] }],
  ...parts,
});

function viewOf(
  services: Readonly<Record<string, Service>>,
  slices: readonly EndpointSlice[] = [slice()],
): ClusterView {
  return {
    service: (namespace, name) => (namespace === 'ns' ? services[name] : undefined),
    slicesOf: () => slices,
    secret: () => undefined,
  };
}

const anyService: ClusterView = { ...viewOf({}), service: () => service() };

let count = 0;
const ingress = (spec: IngressSpec, metadata: object = {}): Stored<Ingress> => ({
  metadata: { name: `i${count}`, namespace: 'ns', uid: `u${count++}`, resourceVersion: '1', ...metadata } as never,
  spec,
});

const path = (
  value: string | undefined,
  pathType: string,
  name: string,
  port: object = { number: 80 },
): HTTPIngressPath => ({
  ...(value !== undefined && { path: value }),
  pathType,
  backend: { service: { name, port } },
});

function build(ingresses: readonly Stored<Ingress>[], view: ClusterView = anyService): BuiltSnapshot {
  const defaultCertificate = { certPem: 'c', keyPem: 'k' };
  const certificates = new SecretCertificates(() => []);
  const shared = new SharedHosts([], new Map());
  const converted = allSteps(acceptIngresses({ ingresses, view, certificates }));
  const ports = { http: 80, https: 443 };
  return allSteps(buildSnapshot({ ingresses: converted, ports, defaultCertificate, shared }));
}

/** The backend of a request, without the namespace and the port. */
function reached(ingresses: readonly Stored<Ingress>[], host: string, at: string): string | undefined {
  const listeners = listenersOf(build(ingresses).plan.listeners);
  const request = { host, method: 'GET', path: at, query: '', header: () => undefined };
  const found = new RouteTable(listeners[0]!.routes).find(request);
  return found?.backends[0]?.backend.replace(/^ns\/|:80$/g, '');
}

describe('paths', () => {
  /** Upstream's documentation of path types has such a table. */
  const single: readonly (readonly [type: string, path: string | undefined, request: string, matches: boolean])[] = [
    ['Prefix', '/', '/any/path', true],
    ['Exact', '/foo', '/foo', true],
    ['Exact', '/foo', '/bar', false],
    ['Exact', '/foo', '/foo/', false],
    ['Exact', '/foo/', '/foo', false],
    ['Prefix', '/foo', '/foo', true],
    ['Prefix', '/foo', '/foo/', true],
    ['Prefix', '/foo/', '/foo', true],
    ['Prefix', '/foo/', '/foo/', true],
    ['Prefix', '/aaa/bb', '/aaa/bbb', false],
    ['Prefix', '/aaa/bbb', '/aaa/bbb', true],
    ['Prefix', '/aaa/bbb/', '/aaa/bbb', true],
    ['Prefix', '/aaa/bbb', '/aaa/bbb/ccc', true],
    ['Prefix', '/aaa/bbb', '/aaa/bbbxyz', false],
    ['Prefix', '/FOO', '/foo', false],
    ['ImplementationSpecific', undefined, '/x', true],
    ['ImplementationSpecific', '/x', '/x/y', true],
  ];
  for (const [type, value, at, matches] of single)
    test(`${type} ${value} ${matches ? 'matches' : 'does not match'} ${at}`, () => {
      const rules = [{ host: 'h', http: { paths: [path(value, type, 'a')] } }];
      assert.equal(reached([ingress({ rules })], 'h', at), matches ? 'a' : undefined);
    });

  test('longer prefixes precede shorter ones, exact paths precede both, in any order of the rules', () => {
    const all = [
      path('/', 'Prefix', 'root'),
      path('/foo', 'Prefix', 'short'),
      path('/foo/bar', 'Prefix', 'long'),
      path('/foo/bar', 'Exact', 'exact'),
    ];
    for (const paths of [all, all.toReversed()]) {
      const one = ingress({ rules: [{ host: 'h', http: { paths } }] });
      const found = ['/x', '/foo', '/foo/barx', '/foo/bar/x', '/foo/bar'].map((at) => reached([one], 'h', at));
      assert.deepEqual(found, ['root', 'short', 'short', 'long', 'exact']);
    }
  });

  test('the older of two ingresses with one path has it', () => {
    const of = (name: string, creationTimestamp: string) =>
      ingress({ rules: [{ host: 'h', http: { paths: [path('/', 'Prefix', name)] } }] }, { creationTimestamp });
    const list = [of('young', '2026-02-01T00:00:00Z'), of('old', '2026-01-01T00:00:00Z')];
    assert.equal(reached(list, 'h', '/'), 'old');
    assert.equal(reached(list.toReversed(), 'h', '/'), 'old');
  });
});

describe('hosts', () => {
  const rules = [
    { host: '*.foo.com', http: { paths: [path('/', 'Prefix', 'wild')] } },
    { host: 'bar.foo.com', http: { paths: [path('/only', 'Prefix', 'exact')] } },
    { http: { paths: [path('/all', 'Prefix', 'any')] } },
  ];
  const cases: readonly (readonly [host: string, path: string, expected: string | undefined])[] = [
    ['bar.foo.com', '/only', 'exact'],
    ['bar.foo.com', '/x', 'wild'],
    ['baz.foo.com', '/only', 'wild'],
    ['a.baz.foo.com', '/', undefined],
    ['foo.com', '/', undefined],
    ['foo.com', '/all', 'any'],
  ];
  for (const [host, at, expected] of cases)
    test(`${host}${at} reaches ${expected ?? 'nothing'}`, () => {
      assert.equal(reached([ingress({ rules })], host, at), expected);
    });

  test("a default backend gets the requests without a matching path: that of the host's own ingress precedes an older ingress's", () => {
    const backend = (name: string) => ({ service: { name, port: { number: 80 } } });
    const older = ingress({ defaultBackend: backend('older') }, { creationTimestamp: '2026-01-01T00:00:00Z' });
    const own = ingress(
      { defaultBackend: backend('own'), rules: [{ host: 'h', http: { paths: [path('/a', 'Prefix', 'a')] } }] },
      { creationTimestamp: '2026-02-01T00:00:00Z' },
    );
    const found = (['h /a', 'h /b', 'other /'] as const).map((one) => {
      const [host = '', at = ''] = one.split(' ');
      return reached([older, own], host, at);
    });
    assert.deepEqual(found, ['a', 'own', 'older']);
  });
});

describe('backends', () => {
  const one = (port: object = { number: 80 }) =>
    ingress({ rules: [{ host: 'h', http: { paths: [path('/', 'Prefix', 's', port)] } }] });
  const resolved = (
    parts: Parameters<typeof service>[0],
    slices: readonly EndpointSlice[] = [slice()],
    port?: object,
  ) => {
    const object = one(port);
    const { plan, problems } = build([object], viewOf({ s: service(parts) }, slices));
    return { backend: Object.values(plan.backends)[0], problems: problems.get(object.metadata.uid) };
  };

  test('ports are found by name and number, endpoints by the port’s name', () => {
    const ports = [
      { name: 'http', port: 80 },
      { name: 'admin', port: 81 },
    ];
    const slices = [
      slice({
        ports: [
          { name: 'http', port: 8080 },
          { name: 'admin', port: 9090 },
        ],
      }),
    ];
    for (const [port, expected] of [
      [{ number: 80 }, 8080],
      [{ number: 81 }, 9090],
      [{ name: 'admin' }, 9090],
    ] as const)
      assert.deepEqual(resolved({ ports }, slices, port).backend?.endpoints, [{ address: '10.0.0.1', port: expected }]);
  });

  test('ready endpoints are used; without any, terminating ones that still serve; never the others', () => {
    const endpoint = (address: string, conditions: object) => ({ addresses: [address], conditions });
    const ready = endpoint('10.0.0.1', { ready: true });
    const ending = endpoint('10.0.0.2', { ready: false, serving: true, terminating: true });
    const starting = endpoint('10.0.0.3', { ready: false, serving: false, terminating: false });
    const addresses = (...endpoints: object[]) =>
      resolved({}, [slice({ endpoints: endpoints as never })]).backend?.endpoints.map(({ address }) => address);
    assert.deepEqual(addresses(ready, ending, starting), ['10.0.0.1']);
    assert.deepEqual(addresses(ending, starting), ['10.0.0.2']);
    assert.deepEqual(addresses(starting), []);
  });

  test('a pod with addresses of both families is one endpoint', () => {
    const slices = [slice(), slice({ addressType: 'IPv6', endpoints: [{ addresses: ['fd00::1'] }] })];
    const at = (family: string) =>
      resolved({ ipFamilies: [family] }, slices).backend?.endpoints.map(({ address }) => address);
    assert.deepEqual([at('IPv4'), at('IPv6')], [['10.0.0.1'], ['fd00::1']]);
  });

  test('the application protocol of the port determines the protocol', () => {
    const of = (appProtocol: string) =>
      resolved({ ports: [{ name: 'http', port: 80, appProtocol }] }).backend?.protocol;
    assert.deepEqual(['kubernetes.io/h2c', 'grpc', 'HTTPS', 'kubernetes.io/ws', 'http'].map(of), [
      'h2c',
      'h2c',
      'https',
      'http',
      'http',
    ]);
  });

  const refused: readonly (readonly [
    what: string,
    parts: Parameters<typeof service>[0],
    reason: string,
    message: RegExp,
  ])[] = [
    [
      'a service of type ExternalName',
      { type: 'ExternalName', externalName: 'x' },
      'UnsupportedBackend',
      /ExternalName/,
    ],
    ['a port that is not there', { ports: [{ port: 81 }] }, 'BackendNotFound', /has no port 80/],
    ['a UDP port', { ports: [{ port: 80, protocol: 'UDP' }] }, 'UnsupportedBackend', /is UDP, not TCP/],
  ];
  for (const [what, parts, reason, message] of refused)
    test(`${what} is a problem of the ingress, and its path gets 503`, () => {
      const { backend, problems } = resolved(parts);
      assert.equal(backend, undefined);
      assert.equal(problems?.[0]?.reason, reason);
      assert.match(problems[0].message, message);
    });

  test('a service of another namespace is not found', () => {
    const object = ingress(
      { defaultBackend: { service: { name: 's', port: { number: 80 } } } },
      { namespace: 'other' },
    );
    const { problems, plan } = build([object], viewOf({ s: service() }));
    assert.deepEqual(
      problems.get(object.metadata.uid)?.map(({ reason }) => reason),
      ['BackendNotFound'],
    );
    assert.deepEqual(
      listenersOf(plan.listeners)[0]?.routes.map(({ backends, emptyStatus }) => [backends, emptyStatus]),
      [[[], 503]],
    );
  });

  test('a backend that is no service is a problem', () => {
    const object = ingress({ defaultBackend: { resource: { kind: 'Bucket', name: 'b' } as never } });
    assert.match(build([object]).problems.get(object.metadata.uid)?.[0]?.message ?? '', /Bucket b is no service/);
  });
});
