/** Routes of several kinds at one listener, and TLSRoutes: which are accepted, and what is served. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ClusterView } from '../snapshot/cluster-view.ts';
import { SharedHosts } from '../snapshot/host-claims.ts';
import { listenersOf } from '../snapshot/snapshot-fixture.ts';
import { metadata, listener, gateway, view, build, reasons, parentReasons } from './build-gateways-fixture.ts';
import type { GatewayListener } from './types.ts';

describe('host names that routes of two kinds have', () => {
  const rule = { backendRefs: [{ name: 's', port: 80 }] };
  const of = (name: string, age: number, hostnames?: readonly string[], more: object = {}) => ({
    metadata: metadata(name, 'ns', { creationTimestamp: `2026-01-01T00:00:0${age}Z` }),
    spec: { parentRefs: [{ name: 'g' }], hostnames, rules: [rule], ...more },
  });
  const accepted = (http: readonly string[] | undefined, grpc: readonly string[] | undefined, grpcAge = 2) => {
    const built = build({ httpRoutes: [of('h', 1, http)] as never, grpcRoutes: [of('g', grpcAge, grpc)] as never });
    const entries = built.routes.map(({ kind, parents }) => [kind, parents[0]?.conditions[0]?.reason]);
    return Object.fromEntries(entries) as Record<string, string>;
  };
  const conflicting: readonly (readonly [string[] | undefined, string[] | undefined])[] = [
    [['a.example'], ['a.example']],
    [['*.example'], ['b.a.example']],
    [['b.a.example'], ['*.example']],
    [['*.a.example'], ['*.example']],
    [undefined, ['a.example']],
    [['a.example'], undefined],
  ];
  for (const [http, grpc] of conflicting)
    test(`${http ?? 'all'} and ${grpc ?? 'all'}: the older route has them`, () => {
      assert.deepEqual(accepted(http, grpc), { HTTPRoute: 'Accepted', GRPCRoute: 'HostnameConflict' });
      assert.deepEqual(accepted(http, grpc, 0), { HTTPRoute: 'HostnameConflict', GRPCRoute: 'Accepted' });
    });

  test('different names are no conflict, nor are those of a refused route or at another listener', () => {
    const both = { HTTPRoute: 'Accepted', GRPCRoute: 'Accepted' };
    assert.deepEqual(accepted(['a.example', '*.c.example'], ['b.example', 'c.example']), both);
    const listeners = [listener(), listener({ name: 'other', port: 81 })];
    const httpRoutes = [of('h', 1, undefined, { parentRefs: [{ name: 'g', sectionName: 'http' }] })];
    const grpcRoutes = [of('g', 2)];
    const built = build({ gateways: [gateway(listeners)], httpRoutes, grpcRoutes } as never);
    assert.deepEqual(
      built.routes.map(({ parents }) => parents[0]?.conditions[0]?.reason),
      ['Accepted', 'Accepted'],
    );
    assert.deepEqual(
      listenersOf(built.ports).map(({ port, routes }) => `${port} ${routes.map(({ source }) => source).join()}`),
      ['80 HTTPRoute ns/h', '81 GRPCRoute ns/g'],
    );
  });
});

describe('TLSRoute', () => {
  const tls = (parts: Partial<GatewayListener> = {}): GatewayListener =>
    listener({ name: 'tls', port: 443, protocol: 'TLS', tls: { mode: 'Passthrough' }, ...parts });
  const tlsRoute = (hostnames: readonly string[], more: object = {}, backend: object = { name: 's', port: 443 }) => ({
    metadata: metadata('t', 'ns', { creationTimestamp: '2026-01-01T00:00:01Z' }),
    spec: { parentRefs: [{ name: 'g' }], hostnames, rules: [{ backendRefs: [backend] }], ...more },
  });
  const withPort: ClusterView = {
    ...view,
    service: (_namespace, name) =>
      name === 'missing'
        ? undefined
        : { metadata: { name }, spec: { ports: [{ port: 80 }, { name: 'tls', port: 443 }] } },
  };
  const buildTls = (listeners: readonly GatewayListener[], routes: readonly object[], more: object = {}) =>
    build({ gateways: [gateway(listeners)] as never, tlsRoutes: routes as never, ...more }, { view: withPort });

  test('is served by its hosts at a listener that passes TLS through', () => {
    const built = buildTls([tls({ hostname: '*.example' })], [tlsRoute(['A.example', 'other.test'])]);
    assert.deepEqual(parentReasons(built), [['Accepted=True Accepted', 'ResolvedRefs=True ResolvedRefs']]);
    const [port] = listenersOf(built.ports);
    const backends = [{ backend: 'ns/s:443', weight: 1 }];
    assert.deepEqual(port?.passthrough, [{ source: 'TLSRoute ns/t', backends, host: 'a.example' }]);
    assert.deepEqual(port?.certificates, []);
    const [served] = built.gateways[0]!.listeners;
    assert.deepEqual([served?.attachedRoutes, served?.listener.kinds], [1, ['TLSRoute']]);
  });

  const refusals: readonly (readonly [what: string, listener: GatewayListener, route: object, reasons: string])[] = [
    ['a listener of HTTP', listener(), tlsRoute(['a.example']), 'Accepted=False NotAllowedByListeners'],
    [
      'a listener that terminates',
      listener({ protocol: 'HTTPS', tls: { certificateRefs: [{ name: 'cert' }] } }),
      tlsRoute(['a.example']),
      'Accepted=False NotAllowedByListeners',
    ],
    [
      'another name',
      tls({ hostname: 'b.example' }),
      tlsRoute(['a.example']),
      'Accepted=False NoMatchingListenerHostname',
    ],
    [
      'another listener',
      tls(),
      tlsRoute(['a.example'], { parentRefs: [{ name: 'g', sectionName: 'no' }] }),
      'Accepted=False NoMatchingParent',
    ],
    [
      'no such service',
      tls(),
      tlsRoute(['a.example'], {}, { name: 'missing', port: 443 }),
      'ResolvedRefs=False BackendNotFound',
    ],
    [
      'no service',
      tls(),
      tlsRoute(['a.example'], {}, { group: 'x', kind: 'Y', name: 's' }),
      'ResolvedRefs=False InvalidKind',
    ],
    [
      'a service of another namespace',
      tls(),
      tlsRoute(['a.example'], {}, { namespace: 'other', name: 's', port: 443 }),
      'ResolvedRefs=False RefNotPermitted',
    ],
  ];
  for (const [what, at, route, expected] of refusals)
    test(`${what}: ${expected}`, () =>
      assert.ok(
        parentReasons(buildTls([at], [route]))[0]?.includes(expected),
        JSON.stringify(parentReasons(buildTls([at], [route]))),
      ));

  test('may refer to another namespace with a grant', () => {
    const grants = [
      {
        metadata: { name: 'grant', namespace: 'other' },
        spec: {
          from: [{ group: 'gateway.networking.k8s.io', kind: 'TLSRoute', namespace: 'ns' }],
          to: [{ group: '', kind: 'Service' }],
        },
      },
    ];
    const route = tlsRoute(['a.example'], {}, { namespace: 'other', name: 's', port: 443 });
    assert.deepEqual(parentReasons(buildTls([tls()], [route], { grants }))[0], [
      'Accepted=True Accepted',
      'ResolvedRefs=True ResolvedRefs',
    ]);
  });

  test('unsupported fields of a TLS listener', () => {
    const verdict = (one: GatewayListener): string[] =>
      reasons(buildTls([one], []).gateways[0]!.listeners[0]!.conditions);
    assert.ok(verdict(tls({ tls: {} })).includes('ResolvedRefs=False InvalidCertificateRef'));
    const https = tls({ protocol: 'HTTPS', tls: { mode: 'Passthrough' } });
    assert.ok(verdict(https).includes('Accepted=False UnsupportedValue'));
    const kinds = { kinds: [{ kind: 'TCPRoute' }, { kind: 'TLSRoute' }] };
    assert.ok(verdict(tls({ allowedRoutes: kinds })).includes('ResolvedRefs=False InvalidRouteKinds'));
  });

  test('shares a port with names that are terminated; one name belongs to the older', () => {
    const https = listener({
      name: 'https',
      port: 443,
      protocol: 'HTTPS',
      hostname: 'h.example',
      tls: { certificateRefs: [{ name: 'cert' }] },
    });
    const built = buildTls([https, tls(), tls({ name: 'twice', hostname: 'h.example' })], [tlsRoute(['*.example'])]);
    const [port] = listenersOf(built.ports);
    assert.deepEqual([port?.passthrough?.map(({ host }) => host), port?.terminated], [['*.example'], ['h.example']]);
    assert.ok(reasons(built.gateways[0]!.listeners[2]!.conditions).includes('Accepted=False HostnameConflict'));
  });

  describe('whose host is terminated on its port', () => {
    const https = (hostname?: string): GatewayListener =>
      listener({ name: 'https', port: 443, protocol: 'HTTPS', hostname, tls: { certificateRefs: [{ name: 'cert' }] } });
    const at = (seconds: number) => ({ creationTimestamp: `2026-01-01T00:00:0${seconds}Z` });
    const named = (name: string, listeners: readonly GatewayListener[], seconds: number) => ({
      ...gateway(listeners),
      metadata: metadata(name, 'ns', at(seconds)),
    });
    /** The route, created at second 1, is at Gateway `g`; an HTTPRoute of all these hosts is at Gateway `other`. */
    const hostsOf = ({
      gateways,
      httpHosts = [],
      httpAge = 0,
      hosts = ['shop.example'],
    }: {
      gateways: readonly object[];
      httpHosts?: readonly string[];
      httpAge?: number;
      hosts?: readonly string[];
    }) => {
      const rules = [{ backendRefs: [{ name: 's', port: 80 }] }];
      const http = {
        metadata: metadata('h', 'ns', at(httpAge)),
        spec: { parentRefs: [{ name: 'other' }, { name: 'g' }], hostnames: httpHosts, rules },
      };
      const built = build(
        { gateways, tlsRoutes: [tlsRoute(hosts)], httpRoutes: httpHosts.length > 0 ? [http] : [] } as never,
        { view: withPort },
      );
      const { passthrough = [], terminated = [] } = listenersOf(built.ports).find(({ port }) => port === 443) ?? {};
      const verdict = built.routes.find(({ kind }) => kind === 'TLSRoute')?.parents[0]?.conditions ?? [];
      return {
        passed: passthrough.map(({ host }) => host),
        terminated,
        conflict: verdict.find(({ type }) => type === 'keelson.dev/HostConflict'),
      };
    };

    for (const hostname of [undefined, '*.example'])
      test(`an older HTTPS listener of the name precedes a TLS listener of ${hostname ?? 'all'}`, () => {
        const gateways = [named('other', [https('shop.example')], 0), named('g', [tls({ hostname })], 0)];
        const { passed, conflict } = hostsOf({ gateways, hosts: ['shop.example', 'b.example'] });
        assert.deepEqual(passed, ['b.example']);
        assert.equal(conflict?.reason, 'TerminatedHost');
        assert.match(conflict.message, /^listener https of Gateway ns\/other, .* for shop.example on port 443$/);
      });

    test('a more specific wildcard precedes it, too; a less specific one does not', () => {
      const passed = (terminating: string, passing?: string): readonly string[] =>
        hostsOf({ gateways: [named('other', [https(terminating)], 0), named('g', [tls({ hostname: passing })], 0)] })
          .passed;
      assert.deepEqual(passed('*.example'), []);
      assert.deepEqual(passed('*.example', 'shop.example'), ['shop.example']);
      assert.deepEqual(passed('*.shop.example'), ['shop.example']);
    });

    test('a listener of a younger Gateway does not precede it; one of the same Gateway does', () => {
      assert.deepEqual(
        hostsOf({ gateways: [named('g', [tls()], 0), named('other', [https('shop.example')], 2)] }).passed,
        ['shop.example'],
      );
      assert.deepEqual(hostsOf({ gateways: [named('g', [tls(), https('shop.example')], 2)] }).passed, []);
    });

    test('an HTTPRoute of the name at another Gateway keeps it when it is older', () => {
      const gateways = [named('other', [https()], 0), named('g', [tls({ hostname: 'shop.example' })], 0)];
      const older = hostsOf({ gateways, httpHosts: ['shop.example'] });
      assert.deepEqual(older.passed, []);
      assert.match(older.conflict?.message ?? '', /^HTTPRoute ns\/h, which terminates TLS, has precedence for/);
      assert.deepEqual(hostsOf({ gateways, httpHosts: ['shop.example'], httpAge: 2 }).passed, ['shop.example']);
    });

    test('within one Gateway the more specific listener has it, whatever HTTPRoute is older', () => {
      const gateways = [named('g', [https(), tls({ hostname: 'shop.example' })], 0)];
      assert.deepEqual(hostsOf({ gateways, httpHosts: ['shop.example'] }).passed, ['shop.example']);
    });

    test('an older HTTPRoute of a name covered by the passthrough wildcard keeps it', () => {
      const gateways = [named('other', [https()], 0), named('g', [tls({ hostname: '*.example' })], 0)];
      const find = (httpAge: number) =>
        hostsOf({ gateways, httpHosts: ['shop.example'], httpAge, hosts: ['*.example'] });
      assert.deepEqual([find(0).passed, find(0).terminated], [['*.example'], ['shop.example']]);
      assert.deepEqual(find(2).terminated, []);
    });
  });

  test('an older Ingress keeps its host', () => {
    const claim = { since: '2026-01-01T00:00:00Z', source: 'Ingress ns/i' };
    const shared = new SharedHosts([80, 443], new Map([['a.example', claim]]));
    const built = build(
      { gateways: [gateway([tls()])] as never, tlsRoutes: [tlsRoute(['a.example', 'b.example'])] as never },
      { view: withPort, shared },
    );
    assert.deepEqual(
      listenersOf(built.ports)[0]?.passthrough?.map(({ host }) => host),
      ['b.example'],
    );
    assert.ok(parentReasons(built)[0]?.includes('keelson.dev/HostConflict=True OlderIngress'));
  });
});
