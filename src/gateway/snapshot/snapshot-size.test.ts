/** The size of a snapshot is linear in that of its objects, and one namespace cannot use up the budget of others. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Secret } from '../../api/gen/core-v1.ts';
import type { Ingress } from '../../api/gen/networking-v1.ts';
import type { Stored } from '../../api/object.ts';
import { allSteps } from '../../base/steps.ts';
import { buildGateways } from '../gateway-api/build-gateways.ts';
import { acceptIngresses } from './accept-ingresses.ts';
import type { ClusterView } from './cluster-view.ts';
import { buildSnapshot, type BuiltSnapshot } from './build-snapshot.ts';
import { SharedHosts } from './host-claims.ts';
import { SecretCertificates } from './secret-certificates.ts';
import { INGRESS_LIMITS, LIMIT_EXCEEDED, ROUTE_LIMITS } from './snapshot-budget.ts';
import { listenersOf, textOf } from './snapshot-fixture.ts';

const KIB = 1024;

function metadata(name: string, namespace: string, age = 0) {
  const creationTimestamp = `2026-01-01T00:00:${String(age).padStart(2, '0')}Z`;
  return { name, namespace, uid: `${namespace}/${name}`, resourceVersion: '1', generation: 1, creationTimestamp };
}

const secretOf = (chainBytes: number): Secret => ({
  metadata: { name: 's' },
  data: { 'tls.crt': Buffer.alloc(chainBytes, 'c').toString('base64'), 'tls.key': 'aw==' },
});

function viewOf(secrets: Readonly<Record<string, Secret>> = {}): ClusterView {
  return {
    service: () => ({ metadata: { name: 's' }, spec: { ports: [{ port: 80 }] } }),
    slicesOf: () => [],
    secret: (namespace, name) => secrets[`${namespace}/${name}`],
  };
}

const backend = { service: { name: 's', port: { number: 80 } } };

function ingress(
  name: string,
  {
    namespace = 'ns',
    age = 0,
    paths = ['/'],
    tls = [],
  }: { namespace?: string; age?: number; paths?: readonly string[]; tls?: readonly string[] },
): Stored<Ingress> {
  const entries = paths.map((path) => ({ path, pathType: 'Prefix', backend }));
  const rules = [{ host: `${name}.example`, http: { paths: entries } }];
  return {
    metadata: metadata(name, namespace, age),
    spec: { rules, tls: tls.map((secretName) => ({ secretName })) },
  } as Stored<Ingress>;
}

function buildIngresses(ingresses: readonly Stored<Ingress>[], view = viewOf()): BuiltSnapshot {
  const certificates = new SecretCertificates(() => ['in.certificate']);
  return allSteps(
    buildSnapshot({
      ingresses: allSteps(acceptIngresses({ ingresses, view, certificates })),
      ports: { http: 80, https: 443 },
      defaultCertificate: { certPem: 'c', keyPem: 'k' },
      shared: new SharedHosts([], new Map()),
    }),
  );
}

function buildRoutes(
  httpRoutes: readonly object[],
  listeners: readonly object[] = [{ name: 'http', port: 80 }],
  tlsRoutes: readonly object[] = [],
  grpcRoutes: readonly object[] = [],
  gatewayNames: readonly string[] = ['g'],
) {
  const gateways = gatewayNames.map((name) => ({
    metadata: metadata(name, 'ns'),
    spec: {
      gatewayClassName: 'keelson',
      listeners: listeners.map((one) => ({ protocol: 'HTTP', allowedRoutes: { namespaces: { from: 'All' } }, ...one })),
    },
  }));
  const steps = buildGateways(
    {
      gateways: gateways as never,
      httpRoutes: httpRoutes as never,
      grpcRoutes: grpcRoutes as never,
      tlsRoutes: tlsRoutes as never,
      backendTlsPolicies: [],
      authoritiesIn: () => undefined,
      grants: [],
      labelsOfNamespace: () => ({}),
    },
    {
      view: viewOf(),
      certificates: new SecretCertificates(() => []),
      taken: new Map(),
      shared: new SharedHosts([], new Map()),
      addresses: [],
      openPorts: new Set(),
      portUser: () => undefined,
    },
  );
  return allSteps(steps);
}

function httpRoute(
  name: string,
  {
    namespace = 'ns',
    age = 0,
    hosts = 1,
    matches = 1,
    headerBytes = 1,
  }: {
    namespace?: string;
    age?: number;
    hosts?: number;
    matches?: number;
    headerBytes?: number;
  },
): object {
  const set = [{ name: 'x-h', value: 'v'.repeat(headerBytes) }];
  return {
    metadata: metadata(name, namespace, age),
    spec: {
      parentRefs: [{ name: 'g', namespace: 'ns' }],
      hostnames: Array.from({ length: hosts }, (_, at) => `${name}-${at}.example`),
      rules: [
        {
          matches: Array.from({ length: matches }, (_, at) => ({ path: { type: 'PathPrefix', value: `/p${at}` } })),
          filters: [{ type: 'RequestHeaderModifier', requestHeaderModifier: { set } }],
          backendRefs: [{ name: 's', port: 80 }],
        },
      ],
    },
  };
}

const LONG_NAME = 's'.repeat(250);

/** `backends` is the number of references to one service, each of which adds its part to the message. */
function tlsRoute(name: string, { age = 0, namespace = 'ns', hosts = 1, backends = 1 }): object {
  return {
    metadata: metadata(name, namespace, age),
    spec: {
      parentRefs: [{ name: 'g', namespace: 'ns' }],
      hostnames: Array.from({ length: hosts }, (_, at) => `${name}-${at}.example`),
      rules: [{ backendRefs: Array.from({ length: backends }, () => ({ name: LONG_NAME, port: 80 })) }],
    },
  };
}

const passing = (port = 443) => ({ name: `tls${port}`, port, protocol: 'TLS', tls: { mode: 'Passthrough' } });

describe('a certificate', () => {
  test('occurs once in a snapshot, however many entries and ingresses refer to its secret', () => {
    const view = viewOf({ 'ns/s': secretOf(60 * KIB) });
    const tls = Array.from({ length: 6000 }, () => 's');
    const list = Array.from({ length: 20 }, (_, at) => ingress(`i${at}`, { tls }));
    const { plan, problems } = buildIngresses(list, view);
    assert.ok(textOf(plan).length < 100 * KIB);
    assert.ok([...problems.values()].every((one) => one.length === 0));
    const tlsListener = listenersOf(plan.listeners).find(({ isTls }) => isTls);
    assert.deepEqual(
      tlsListener?.certificates.map(({ certPem }) => certPem.length),
      [60 * KIB, 1],
    );
  });

  test('has the names that no older ingress claims', () => {
    const withTls = (name: string, age: number, secretName: string, host: string) => {
      const one = ingress(name, { age });
      return { ...one, spec: { ...one.spec, tls: [{ secretName, hosts: [host] }] } };
    };
    const list = [
      withTls('one', 1, 'a', 'x.example'),
      withTls('two', 2, 'b', 'Y.example'),
      withTls('three', 3, 'a', 'y.example'),
      withTls('four', 4, 'a', 'z.example'),
    ];
    const { plan } = buildIngresses(list, viewOf({ 'ns/a': secretOf(1), 'ns/b': secretOf(2) }));
    const served = listenersOf(plan.listeners)[1]?.certificates ?? [];
    assert.deepEqual(
      served.map(({ names }) => names),
      [['x.example', 'z.example'], ['y.example'], ['']],
    );
  });

  test('of more than 64 KiB is not served and causes an event', () => {
    const { plan, problems } = buildIngresses([ingress('i', { tls: ['s'] })], viewOf({ 'ns/s': secretOf(65 * KIB) }));
    assert.equal(listenersOf(plan.listeners)[1]?.certificates.length, 1);
    assert.match(
      problems.get('ns/i')?.[0]?.message ?? '',
      /secret s: tls.crt or tls.key has 66560 bytes, more than 65536/,
    );
  });

  test('beyond a hundred of one ingress is not served and causes an event', () => {
    const tls = Array.from({ length: 150 }, (_, at) => `s${at}`);
    const view = viewOf(Object.fromEntries(tls.map((name) => [`ns/${name}`, secretOf(10)])));
    const { plan, problems } = buildIngresses([ingress('i', { tls })], view);
    assert.equal(listenersOf(plan.listeners)[1]?.certificates.length, 101);
    assert.deepEqual(
      problems.get('ns/i')?.map(({ reason }) => reason),
      [LIMIT_EXCEEDED],
    );
  });

  test('is parsed again when its secret changes, and not before', () => {
    let count = 0;
    const certificates = new SecretCertificates(() => {
      count++;
      return [];
    });
    const secrets = { 'ns/s': secretOf(1) };
    for (let at = 0; at < 3; at++) certificates.find(viewOf(secrets), 'ns', 's');
    assert.equal(count, 1);
    secrets['ns/s'] = secretOf(2);
    assert.equal(certificates.find(viewOf(secrets), 'ns', 's').problem, undefined);
    assert.equal(count, 2);
  });
});

describe('problems of an object', () => {
  test('cause a few events, however many paths have them', () => {
    const paths = Array.from({ length: 5000 }, (_, at) => `/${at}`);
    const one = ingress('i', { paths });
    for (const [at, path] of one.spec!.rules![0]!.http!.paths.entries())
      Object.assign(path, { backend: { service: { name: `missing${at}`, port: { number: 80 } } } });
    const { problems } = buildIngresses([one], { ...viewOf(), service: () => undefined });
    assert.equal(problems.get('ns/i')?.length, 20);
  });
});

describe('routes', () => {
  test('of an HTTPRoute contain its filters once, whatever its hosts, matches and listeners', () => {
    const listeners = Array.from({ length: 8 }, (_, at) => ({ name: `l${at}`, port: 80 + at }));
    const route = httpRoute('r', { hosts: 16, matches: 64, headerBytes: 100 * KIB });
    const { ports, backends } = buildRoutes([route], listeners);
    assert.ok(textOf({ listeners: ports, backends }).length < 2 * JSON.stringify(route).length);
    const served = listenersOf(ports);
    assert.deepEqual(
      served.map(({ routes }) => routes.length),
      listeners.map(() => 16 * 64),
    );
    assert.equal(new Set(served[0]?.routes.map(({ filters }) => filters)).size, 1);
  });

  test('that leave names to more specific listeners are charged for these names', () => {
    // Each wildcard is covered by the previous one: the first listener of a Gateway leaves 63 names to others, the next one 62.
    const name = Array.from({ length: 62 }, () => 'xyz').join('.');
    const wildcards = Array.from({ length: 63 }, (_, at) => ({ name: `l${at}`, hostname: `*.${name.slice(4 * at)}` }));
    const listeners = [{ name: 'all' }, ...wildcards.slice(0, 61)].map((one) => ({ port: 80, ...one }));
    const names = Array.from({ length: 120 }, (_, at) => `g${at}`);
    const routes = Array.from({ length: 4 }, (_, at) => ({
      metadata: metadata(`r${at}`, 'ns', at),
      spec: { parentRefs: names.slice(30 * at, 30 * at + 30).map((each) => ({ name: each })), rules: [{}] },
    }));
    const { ports, backends, routes: verdicts } = buildRoutes(routes, listeners, [], [], names);
    const [first, ...others] = verdicts.map(({ parents }) => parents[0]?.conditions[0]?.reason);
    assert.deepEqual(
      [first, ...others],
      verdicts.map(() => LIMIT_EXCEEDED),
    );
    assert.ok(textOf({ listeners: ports, backends }).length < ROUTE_LIMITS.object);
  });

  test('of a TLSRoute contain its backends once, whatever its hosts and listeners', () => {
    const listeners = Array.from({ length: 8 }, (_, at) => passing(443 + at));
    const route = tlsRoute('r', { hosts: 16, backends: 1000 });
    const { ports, backends } = buildRoutes([], listeners, [route]);
    assert.ok(textOf({ listeners: ports, backends }).length < 2 * JSON.stringify(route).length);
    assert.deepEqual(
      listenersOf(ports).map(({ passthrough = [] }) => [passthrough.length, passthrough[15]?.backends.length]),
      listeners.map(() => [16, 1000]),
    );
  });

  test('of an ingress are linear in its paths', () => {
    const sizeOf = (count: number): number => {
      const paths = Array.from({ length: count }, (_, at) => `/path${at + 10_000}`);
      return textOf(buildIngresses([ingress('i', { paths })]).plan).length;
    };
    assert.ok(sizeOf(2000) < 2.1 * sizeOf(1000));
  });
});

describe('a namespace beyond its share', () => {
  const isServed = (routes: readonly { readonly source: string }[], source: string): boolean =>
    routes.some((one) => one.source === source);

  test('keeps its older ingresses, and takes nothing from other namespaces', () => {
    const paths = Array.from({ length: 5000 }, (_, at) => `/${at}`);
    const greedy = Array.from({ length: 30 }, (_, at) => ingress(`g${at}`, { namespace: 'greedy', age: at, paths }));
    const last = ingress('last', { namespace: 'other', age: 59 });
    const { plan, problems } = buildIngresses([last, ...greedy.toReversed()]);
    const routes = listenersOf(plan.listeners)[0]?.routes ?? [];
    const served = greedy.filter(({ metadata: { name } }) => isServed(routes, `Ingress greedy/${name}`));
    assert.deepEqual(served, greedy.slice(0, served.length));
    assert.ok(served.length > 0 && served.length < greedy.length);
    assert.ok(isServed(routes, 'Ingress other/last'));
    const refused = problems.get('greedy/g29') ?? [];
    assert.equal(refused[0]?.reason, LIMIT_EXCEEDED);
    assert.match(refused[0].message, /the ingress is not served: routes of its namespace need more than 16 MiB/);
    assert.ok(textOf(plan).length < INGRESS_LIMITS.total);
  });

  test('keeps its older HTTPRoutes; the others have a condition', () => {
    const greedy = Array.from({ length: 30 }, (_, at) =>
      httpRoute(`g${at}`, { namespace: 'greedy', age: at, headerBytes: 1000 * KIB }),
    );
    const last = httpRoute('last', { namespace: 'other', age: 59 });
    const { ports, backends, routes: verdicts } = buildRoutes([last, ...greedy]);
    const routes = listenersOf(ports)[0]?.routes ?? [];
    assert.ok(isServed(routes, 'HTTPRoute greedy/g0') && isServed(routes, 'HTTPRoute other/last'));
    assert.ok(!isServed(routes, 'HTTPRoute greedy/g29'));
    const refused = verdicts.find(({ route }) => route.metadata.name === 'g29')?.parents[0]?.conditions[0];
    assert.deepEqual([refused?.type, refused?.status, refused?.reason], ['Accepted', 'False', LIMIT_EXCEEDED]);
    assert.ok(textOf({ listeners: ports, backends }).length < ROUTE_LIMITS.total);
  });

  test('keeps its older TLSRoutes; the others have a condition', () => {
    const greedy = Array.from({ length: 30 }, (_, at) =>
      tlsRoute(`g${at}`, { namespace: 'greedy', age: at, backends: 2_500 }),
    );
    const last = tlsRoute('last', { namespace: 'other', age: 59 });
    const { ports, routes: verdicts } = buildRoutes([], [passing()], [last, ...greedy]);
    const served = listenersOf(ports)[0]?.passthrough ?? [];
    assert.ok(isServed(served, 'TLSRoute greedy/g0') && isServed(served, 'TLSRoute other/last'));
    assert.ok(!isServed(served, 'TLSRoute greedy/g29'));
    const refused = verdicts.find(({ route }) => route.metadata.name === 'g29')?.parents[0]?.conditions[0];
    assert.deepEqual([refused?.type, refused?.status, refused?.reason], ['Accepted', 'False', LIMIT_EXCEEDED]);
  });

  test('with a single object beyond the limit has nothing of it served', () => {
    const { routes } = buildRoutes([httpRoute('r', { headerBytes: 5000 * KIB })]);
    assert.match(routes[0]?.parents[0]?.conditions[0]?.message ?? '', /more than 4 MiB, the limit of an object/);
  });

  test('leaves the hosts of unserved objects to younger routes of another kind', () => {
    const refused = httpRoute('r', { headerBytes: 5000 * KIB });
    const grpc = { ...httpRoute('r', { age: 1 }), spec: { parentRefs: [{ name: 'g' }], hostnames: ['r-0.example'] } };
    const { routes } = buildRoutes([refused], undefined, [], [grpc]);
    assert.deepEqual(
      routes.map(({ kind, parents }) => `${kind} ${parents[0]?.conditions[0]?.reason}`),
      [`HTTPRoute ${LIMIT_EXCEEDED}`, 'GRPCRoute Accepted'],
    );
  });
});
