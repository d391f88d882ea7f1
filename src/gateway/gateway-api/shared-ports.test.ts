/**
 * Several listeners on one port: within a Gateway each has its own requests; several Gateways share the port, and the oldest
 * route of a host has precedence.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RouteTable } from '../data-plane/route-table.ts';
import { listenersOf } from '../snapshot/snapshot-fixture.ts';
import { backendTo, build, gateway, httpRoute, listener, metadata, reasons, view } from './build-gateways-fixture.ts';
import type { BuiltGateways } from './build-gateways.ts';
import { namesAndWildcards } from './hostnames.ts';
import type { GatewayListener } from './types.ts';

const at = (seconds: number) => ({ creationTimestamp: `2026-01-01T00:00:0${seconds}Z` });
const named = (name: string, listeners: readonly GatewayListener[], seconds = 0) => ({
  ...gateway(listeners),
  metadata: metadata(name, 'ns', at(seconds)),
});
/** A route with the path `/NAME` unless the test names another. */
const routeTo = (
  name: string,
  parentRefs: readonly object[],
  {
    hostnames,
    seconds = 0,
    path = `/${name}`,
  }: { hostnames?: readonly string[]; seconds?: number; path?: string } = {},
) => ({
  ...httpRoute([{ matches: [{ path: { type: 'PathPrefix', value: path } }], ...backendTo(name) }], {
    parentRefs,
    ...(hostnames && { hostnames }),
  }),
  metadata: metadata(name, 'ns', at(seconds)),
});

function reached(built: BuiltGateways, host: string, path: string): string | undefined {
  const table = new RouteTable(listenersOf(built.ports)[0]?.routes ?? []);
  const found = table.find({ host, path, method: 'GET', query: '', header: () => undefined });
  return found?.backends[0]?.backend.replace(/^ns\/|:80$/g, '');
}

describe('listeners of one Gateway', () => {
  const hostnames = [undefined, '*.example.com', '*.foo.example.com', 'abc.foo.example.com'];
  const names = ['all', 'example', 'foo', 'abc'];
  const listeners = hostnames.map((hostname, index) =>
    listener({ name: names[index]!, ...(hostname && { hostname }) }),
  );
  const hosts = ['bar.com', 'bar.example.com', 'bar.foo.example.com', 'abc.foo.example.com'];

  for (const [what, own] of [
    ['routes without host names', undefined],
    [
      'routes with the names of all listeners',
      ['bar.com', '*.example.com', '*.foo.example.com', 'abc.foo.example.com'],
    ],
  ] as const)
    test(`requests belong to the most specific listener of their host: ${what}`, () => {
      const routes = names.map((name) =>
        routeTo(name, [{ name: 'g', sectionName: name }], { ...(own && { hostnames: own }) }),
      );
      const built = build({ gateways: [named('g', listeners)] as never, httpRoutes: routes as never });
      for (const { parents } of built.routes)
        assert.equal(parents[0]?.conditions[0]?.reason, 'Accepted', 'also where other listeners take its requests');
      const found = hosts.map((host) => names.map((name) => reached(built, host, `/${name}`)));
      assert.deepEqual(
        found,
        names.map((_, row) => names.map((name, column) => (row === column ? name : undefined))),
      );
    });

  test('a listener that is not served, or on another port, gets no requests', () => {
    const refused = listener({ name: 'tls', protocol: 'HTTPS', hostname: 'a.example', port: 80 });
    const elsewhere = listener({ name: 'other', hostname: 'b.example', port: 8080 });
    const one = named('g', [listener(), refused, elsewhere]);
    const built = build({
      gateways: [one] as never,
      httpRoutes: [routeTo('r', [{ name: 'g', sectionName: 'http' }])] as never,
    });
    assert.deepEqual(
      ['a.example', 'b.example'].map((host) => reached(built, host, '/r')),
      ['r', 'r'],
    );
  });

  test('a wildcard of a route keeps the hosts that no more specific listener has', () => {
    const one = named('g', [listener(), listener({ name: 'a', hostname: 'a.example' })]);
    const route = routeTo('r', [{ name: 'g', sectionName: 'http' }], { hostnames: ['*.example'] });
    const built = build({ gateways: [one] as never, httpRoutes: [route] as never });
    assert.deepEqual(
      ['b.example', 'a.example', 'x.a.example'].map((host) => reached(built, host, '/r')),
      ['r', undefined, 'r'],
    );
  });
});

describe('listeners of several Gateways for one port and host name', () => {
  const gateways = [named('old', [listener()], 0), named('new', [listener()], 1)];

  test('are all served at the same addresses', () => {
    const built = build({ gateways: gateways as never });
    for (const { listeners } of built.gateways)
      assert.deepEqual(reasons(listeners[0]!.conditions).slice(0, 2), [
        'Accepted=True Accepted',
        'Conflicted=False NoConflicts',
      ]);
    assert.deepEqual(
      built.ports.map(({ port }) => port),
      [80],
    );
  });

  test('routes of both respond; for one host those of the Gateway whose route named it first have precedence, whatever the path', () => {
    const routes = [
      routeTo('first', [{ name: 'new' }], { hostnames: ['web.example'], seconds: 2, path: '/' }),
      routeTo('second', [{ name: 'old' }], { hostnames: ['web.example'], seconds: 3, path: '/login' }),
      routeTo('third', [{ name: 'new' }], { hostnames: ['web.example'], seconds: 4, path: '/own' }),
      routeTo('other', [{ name: 'old' }], { hostnames: ['other.example'], seconds: 5, path: '/' }),
    ];
    const built = build({ gateways: gateways as never, httpRoutes: routes as never });
    assert.deepEqual(
      ['/login', '/own', '/'].map((path) => reached(built, 'web.example', path)),
      ['first', 'third', 'first'],
    );
    assert.equal(reached(built, 'other.example', '/login'), 'other');
    const conflict = (name: string): string | undefined =>
      built.routes
        .find(({ route }) => route.metadata.name === name)
        ?.parents[0]?.conditions.find(({ type }) => type === 'keelson.dev/HostConflict')?.message;
    assert.equal(
      conflict('second'),
      'HTTPRoute ns/first of another Gateway, which is older, has precedence for web.example on port 80',
    );
    assert.deepEqual(['first', 'third', 'other'].map(conflict), [undefined, undefined, undefined]);
  });

  test('the second Gateway gets the requests that the first does not match', () => {
    const routes = [
      routeTo('first', [{ name: 'old' }], { seconds: 2, path: '/a' }),
      routeTo('second', [{ name: 'new' }], { seconds: 3, path: '/' }),
    ];
    const built = build({ gateways: gateways as never, httpRoutes: routes as never });
    assert.deepEqual(
      ['/a', '/b'].map((path) => reached(built, 'x', path)),
      ['first', 'second'],
    );
  });

  test('a refused route has no host', () => {
    const refused = {
      ...routeTo('first', [{ name: 'old' }], { seconds: 2 }),
      spec: { parentRefs: [{ name: 'old' }], rules: [{ filters: [{ type: 'ExtensionRef' }] }] },
    };
    const other = routeTo('second', [{ name: 'new' }], { seconds: 3, path: '/' });
    const built = build({ gateways: gateways as never, httpRoutes: [refused, other] as never });
    assert.equal(reached(built, 'x', '/'), 'second');
    assert.equal(built.routes[1]?.parents[0]?.conditions.length, 2);
  });

  test('a listener without TLS gets no port with TLS; HTTPS and TLS share port and name', () => {
    const tls = { certificateRefs: [{ name: 'cert' }] };
    const https = named('old', [listener({ port: 443, protocol: 'HTTPS', tls })], 0);
    const passed = [listener({ port: 443, protocol: 'TLS', tls: { mode: 'Passthrough' } })];
    const younger = named('new', [...passed, listener({ name: 'plain', port: 443 })], 1);
    assert.deepEqual(
      build({ gateways: [https, younger] as never }).gateways[1]?.listeners.map(
        ({ conditions }) => reasons(conditions)[1],
      ),
      ['Conflicted=False NoConflicts', 'Conflicted=True ProtocolConflict'],
    );
  });

  describe('a host has the certificate of the Gateway with precedence', () => {
    const https = (name: string, seconds: number, hostnames: readonly (string | undefined)[], more: object = {}) => {
      const tls = { certificateRefs: [{ name }] };
      const own = hostnames.map((hostname, at) =>
        listener({ name: `l${at}`, port: 443, protocol: 'HTTPS', tls, ...(hostname && { hostname }), ...more }),
      );
      return named(name, own, seconds);
    };
    let ownNames: Readonly<Record<string, readonly string[]>> = { old: [], new: [], claiming: ['Web.example'] };
    const secret = (_: string, name: string) => {
      const data = { 'tls.crt': Buffer.from(name).toString('base64'), 'tls.key': 'aw==' };
      return { metadata: { name }, data };
    };
    const inspect = (certPem: string) => ownNames[certPem] ?? [];
    const certificates = (
      two: readonly object[],
      httpRoutes: readonly object[],
      asked: readonly string[],
      tlsRoutes: readonly object[] = [],
    ) => {
      const objects = { gateways: two as never, httpRoutes: httpRoutes as never, tlsRoutes: tlsRoutes as never };
      const [port] = listenersOf(build(objects, { view: { ...view, secret }, inspect }).ports);
      const byName = new Map(port?.certificates.flatMap(({ names, certPem }) => names.map((name) => [name, certPem])));
      return asked.map((host) => namesAndWildcards(host).flatMap((name) => byName.get(name) ?? [])[0]);
    };

    for (const [what, taking] of [
      ['a younger listener of that very name', https('new', 1, ['web.example'])],
      ['names in a younger certificate', https('claiming', 1, [undefined])],
      ['a younger listener that ends TLS for TLSRoutes', https('new', 1, ['web.example'], { protocol: 'TLS' })],
    ] as const)
      test(`and not that of ${what}`, () => {
        const old = https('old', 0, [undefined, 'shop.example']);
        const other = listener({
          name: 'other',
          port: 443,
          protocol: 'HTTPS',
          hostname: 'x.example',
          tls: { certificateRefs: [{ name: 'old' }] },
        });
        const younger = { ...taking, spec: { ...taking.spec, listeners: [...taking.spec.listeners, other] } };
        for (const hostnames of [['web.example'], ['*.example'], undefined]) {
          const exact = hostnames?.[0] === 'web.example';
          if (!exact && taking.spec.listeners[0]?.protocol === 'TLS') continue;
          const route = routeTo('r', [{ name: 'old' }], { ...(hostnames && { hostnames }), seconds: 2 });
          assert.deepEqual(certificates([old, younger], [route], ['web.example']), ['old'], hostnames?.[0]);
        }
      });

    test('nor that of an older listener without a route of the host', () => {
      const two = [https('old', 0, [undefined, 'web.example']), https('new', 1, ['web.example', 'free.example'])];
      const route = routeTo('r', [{ name: 'new' }], { hostnames: ['web.example'], seconds: 2 });
      assert.deepEqual(certificates(two, [route], ['web.example', 'free.example', 'other.example']), [
        'new',
        'new',
        'old',
      ]);
    });

    test('a name in a certificate that no host can have is left out', () => {
      const long = `${'a.'.repeat(150)}example`;
      ownNames = { ...ownNames, long: [long] };
      const two = [https('old', 0, [undefined]), https('long', 1, ['x.example'])];
      const route = routeTo('r', [{ name: 'old' }], { hostnames: ['web.example'], seconds: 2 });
      assert.deepEqual(certificates(two, [route], ['x.example', long]), ['long', 'old']);
    });

    test('a TLSRoute with the host has the certificate of its listener', () => {
      const two = [https('old', 0, [undefined]), https('new', 1, ['db.example'], { protocol: 'TLS' })];
      const route = routeTo('r', [{ name: 'old' }], { hostnames: ['db.example'], seconds: 3 });
      const tlsRoute = {
        metadata: metadata('t', 'ns', at(2)),
        spec: { parentRefs: [{ name: 'new' }], hostnames: ['db.example'], rules: [backendTo('s')] },
      };
      assert.deepEqual(certificates(two, [route], ['db.example'], [tlsRoute]), ['new']);
    });
  });

  describe('HTTPS at one Gateway and TLS passthrough at another', () => {
    const tls = { certificateRefs: [{ name: 'cert' }] };
    const https = named('old', [listener({ port: 443, protocol: 'HTTPS', tls })], 0);
    const passing = named('new', [listener({ port: 443, protocol: 'TLS', tls: { mode: 'Passthrough' } })], 0);
    const passed = (httpHosts: readonly string[], httpAge: number, tlsHosts: readonly string[]) => {
      const tlsRoute = {
        metadata: metadata('t', 'ns', at(2)),
        spec: { parentRefs: [{ name: 'new' }], hostnames: tlsHosts, rules: [backendTo('s')] },
      };
      const http = routeTo('h', [{ name: 'old' }], { hostnames: httpHosts, seconds: httpAge });
      const built = build({
        gateways: [https, passing] as never,
        httpRoutes: [http] as never,
        tlsRoutes: [tlsRoute] as never,
      });
      const [port] = listenersOf(built.ports);
      return [port?.passthrough?.map(({ host }) => host) ?? [], port?.terminated ?? []];
    };

    test('a TLSRoute has its names, except those of an older HTTPRoute', () => {
      assert.deepEqual(passed(['web.example'], 1, ['db.example']), [['db.example'], []]);
      assert.deepEqual(passed(['web.example'], 1, ['web.example']), [[], []]);
      assert.deepEqual(passed(['web.example'], 3, ['web.example']), [['web.example'], []]);
    });

    test('a TLSRoute for all names leaves those of older HTTPRoutes, and all when an older one is for all', () => {
      assert.deepEqual(passed(['web.example'], 1, []), [[''], ['web.example']]);
      assert.deepEqual(passed([], 1, []), [[], []]);
    });
  });
});

describe('ports of Gateways', () => {
  const many = (name: string, namespace: string, from: number, seconds: number) => ({
    ...gateway(Array.from({ length: 60 }, (_, index) => listener({ name: `l${index}`, port: from + index }))),
    metadata: metadata(name, namespace, at(seconds)),
  });
  const openOf = (gateways: readonly object[]) => build({ gateways: gateways as never }).ports.map(({ port }) => port);

  test('are a hundred of a namespace, those of the oldest Gateways', () => {
    const open = openOf([many('b', 'ns', 2000, 2), many('a', 'ns', 1000, 1), many('c', 'other', 3000, 3)]);
    assert.deepEqual(
      [open.length, open.includes(1059), open.includes(2039), open.includes(2040)],
      [160, true, true, false],
    );
    assert.ok(open.includes(3059));
    // A port that is open costs nothing.
    assert.equal(openOf([many('a', 'ns', 1000, 1), many('b', 'ns', 1000, 2), many('c', 'ns', 1040, 3)]).length, 100);
  });

  test('are a thousand of all', () => {
    const gateways = Array.from({ length: 20 }, (_, index) => many(`g${index}`, `ns${index}`, 1000 + 100 * index, 1));
    assert.equal(openOf(gateways).length, 1_000);
  });
});
