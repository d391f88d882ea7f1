/** Gateways and routes: the served routes, and conditions with upstream's reasons. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RouteTable } from '../data-plane/route-table.ts';
import { listenersOf } from '../snapshot/snapshot-fixture.ts';
import type { BuiltGateways } from './build-gateways.ts';
import {
  metadata,
  listener,
  gateway,
  backendTo,
  httpRoute,
  requestHeaders,
  build,
  parentReasons,
} from './build-gateways-fixture.ts';
import { intersection, routeHosts } from './hostnames.ts';
import { routeParents } from './status-objects.ts';
import type { GatewayListener, HttpMatch, HttpRoute, ReferenceGrant, RouteFilter, RouteRule } from './types.ts';

function reached(
  built: BuiltGateways,
  request: {
    host?: string;
    path?: string;
    method?: string;
    query?: string;
    headers?: Record<string, string>;
  },
) {
  const { host = 'any.example', path = '/', method = 'GET', query = '', headers = {} } = request;
  const found = new RouteTable(listenersOf(built.ports)[0]?.routes ?? []).find({
    host,
    path,
    method,
    query,
    header: (name) => headers[name],
  });
  return found?.backends[0]?.backend.replace(/^ns\/|:80$/g, '');
}

describe('host names', () => {
  const cases: readonly (readonly [listener: string, route: string, expected: string | undefined])[] = [
    ['', 'a.example', 'a.example'],
    ['a.example', '', 'a.example'],
    ['*.example', 'a.example', 'a.example'],
    ['*.example', 'b.a.example', 'b.a.example'],
    ['*.example', 'example', undefined],
    ['a.example', '*.example', 'a.example'],
    ['*.example', '*.a.example', '*.a.example'],
    ['*.a.example', '*.example', '*.a.example'],
    ['*.a.example', '*.b.example', undefined],
    ['a.example', 'b.example', undefined],
  ];
  for (const [one, other, expected] of cases)
    test(`${one || 'all'} and ${other || 'all'}`, () => assert.equal(intersection(one, other), expected));
  test('a route without host names has those of its listener', () => {
    assert.deepEqual([routeHosts('*.Example', undefined), routeHosts(undefined, [])], [['*.example'], ['']]);
  });
});

describe('precedence of rules', () => {
  const match = (name: string, one: HttpMatch): RouteRule<HttpMatch> => ({
    matches: [one],
    ...backendTo(name),
  });
  const path = (type: string, value: string) => ({ path: { type, value } });

  test('exact paths precede the longest prefix, a method, headers, query parameters', () => {
    const rules = [
      match('root', path('PathPrefix', '/')),
      match('params', { ...path('PathPrefix', '/'), queryParams: [{ name: 'q', value: '1' }] }),
      match('header', { ...path('PathPrefix', '/'), headers: [{ name: 'X-One', value: '1' }] }),
      match('two', {
        ...path('PathPrefix', '/'),
        headers: [
          { name: 'x-one', value: '1' },
          { name: 'x-two', value: '2' },
        ],
      }),
      match('method', { ...path('PathPrefix', '/'), method: 'POST' }),
      match('long', path('PathPrefix', '/a/b')),
      match('regex', path('RegularExpression', '/r/[0-9]+')),
      match('exact', path('Exact', '/a/b')),
    ];
    for (const order of [rules, rules.toReversed()]) {
      const built = build({ httpRoutes: [httpRoute(order)] as never });
      const one = { 'x-one': '1' };
      const found = [
        { path: '/x' },
        { path: '/x', query: '?q=1' },
        { path: '/x', headers: one },
        { path: '/x', headers: { ...one, 'x-two': '2' } },
        { path: '/x', method: 'POST', headers: one },
        { path: '/a/b/c', method: 'POST' },
        { path: '/a/b' },
        { path: '/r/12' },
        { path: '/r/x' },
      ].map((request) => reached(built, request));
      assert.deepEqual(found, ['root', 'params', 'header', 'two', 'method', 'long', 'exact', 'regex', 'root']);
    }
  });

  test("among equal matches the older route's has precedence", () => {
    const of = (name: string, creationTimestamp: string) => httpRoute([backendTo(name)], {}, { creationTimestamp });
    const list = [of('young', '2026-02-01T00:00:00Z'), of('old', '2026-01-01T00:00:00Z')];
    assert.equal(reached(build({ httpRoutes: list as never }), {}), 'old');
  });

  test('a gRPC route matches service and method of a POST', () => {
    const rule = (name: string, method?: object) => ({
      ...(method && { matches: [{ method }] }),
      ...backendTo(name),
    });
    const grpc = httpRoute([
      rule('all'),
      rule('service', { service: 'p.S' }),
      rule('both', { service: 'p.S', method: 'M' }),
    ] as never);
    const built = build({ grpcRoutes: [grpc] as never });
    const found = ['/p.S/M', '/p.S/Other', '/p.Sx/M'].map((at) => reached(built, { path: at, method: 'POST' }));
    assert.deepEqual(found, ['both:80 h2c', 'service:80 h2c', 'all:80 h2c']);
    assert.equal(reached(built, { path: '/p.S/M' }), undefined);
    assert.equal(Object.values(built.backends)[0]?.protocol, 'h2c');
  });

  test('a gRPC route changes headers', () => {
    const set = [{ name: 'x-a', value: '1' }];
    const rules = [{ filters: [requestHeaders({ set })], ...backendTo('s') }];
    const built = build({ grpcRoutes: [httpRoute(rules)] } as never);
    assert.deepEqual(listenersOf(built.ports)[0]?.routes[0]?.filters?.requestHeaders?.set, [['x-a', '1']]);
  });

  test('alternatives in a gRPC expression apply to the service or to the method', () => {
    const method = { type: 'RegularExpression', service: 'a\\.A|b\\.B', method: 'Get|Put' };
    const built = build({ grpcRoutes: [httpRoute([{ matches: [{ method }], ...backendTo('s') }] as never)] as never });
    const paths = ['/a.A/Get', '/a.A/Put', '/b.B/Get', '/b.B/Put', '/a.A', 'Put', '/b.B/GetX', '/c/Get'];
    const found = paths.filter((at) => reached(built, { path: at, method: 'POST' }) !== undefined);
    assert.deepEqual(found, paths.slice(0, 4));
  });
});

/** Filters that no message can carry, or that would change the framing. */
const unsupportedFilters: readonly (readonly [what: string, filter: RouteFilter])[] = [
  ...['Content-Length', 'transfer-encoding', 'Connection', 'keep-alive', 'TE', 'Trailer', 'upgrade', 'Host', 'expect']
    .concat(['Proxy-Authorization', 'proxy-anything', ':path', 'a b', ''])
    .flatMap((name): [string, RouteFilter][] => [
      [`request header ${name} set`, requestHeaders({ set: [{ name, value: '0' }] })],
      [`request header ${name} added`, requestHeaders({ add: [{ name, value: '0' }] })],
      [`request header ${name} removed`, requestHeaders({ remove: [name] })],
      [
        `response header ${name} set`,
        { type: 'ResponseHeaderModifier', responseHeaderModifier: { set: [{ name, value: '0' }] } },
      ],
    ]),
  ...['a\r\nb: c', 'a\nb', 'a\rb', 'a\0', 'a\x7f', 'ł'].map((value): [string, RouteFilter] => [
    `the value ${JSON.stringify(value)} of a header`,
    requestHeaders({ set: [{ name: 'x', value }] }),
  ]),
  ...['a', '/a b', '/a\r\nb: c', '/a?b', '/a#b', '/a\\b', '/ł', 'http://other'].flatMap(
    (value): [string, RouteFilter][] => [
      [
        `a path replaced by ${JSON.stringify(value)}`,
        { type: 'URLRewrite', urlRewrite: { path: { type: 'ReplaceFullPath', replaceFullPath: value } } },
      ],
      [
        `a redirect to ${JSON.stringify(value)}`,
        {
          type: 'RequestRedirect',
          requestRedirect: { path: { type: 'ReplacePrefixMatch', replacePrefixMatch: value } },
        },
      ],
    ],
  ),
];

describe('routes and their parents', () => {
  const accepted = ['Accepted=True Accepted', 'ResolvedRefs=True ResolvedRefs'];
  const cases: readonly (readonly [
    what: string,
    route: object,
    listeners: readonly GatewayListener[],
    expected: readonly string[],
  ])[] = [
    ['an attached one', httpRoute([backendTo('s')]), [listener()], accepted],
    [
      'a section that is not there',
      httpRoute([backendTo('s')], { parentRefs: [{ name: 'g', sectionName: 'x' }] }),
      [listener()],
      ['Accepted=False NoMatchingParent', accepted[1]!],
    ],
    [
      'a port that is not there',
      httpRoute([backendTo('s')], { parentRefs: [{ name: 'g', port: 81 }] }),
      [listener()],
      ['Accepted=False NoMatchingParent', accepted[1]!],
    ],
    [
      'no name in common',
      httpRoute([backendTo('s')], { hostnames: ['a.test'] }),
      [listener({ hostname: 'b.test' })],
      ['Accepted=False NoMatchingListenerHostname', accepted[1]!],
    ],
    [
      'a kind that is not allowed',
      httpRoute([backendTo('s')]),
      [listener({ allowedRoutes: { kinds: [{ kind: 'GRPCRoute' }] } })],
      ['Accepted=False NotAllowedByListeners', accepted[1]!],
    ],
    [
      'a service that is not there',
      httpRoute([backendTo('missing')]),
      [listener()],
      [accepted[0]!, 'ResolvedRefs=False BackendNotFound'],
    ],
    [
      'a backend that is no service',
      httpRoute([backendTo('s', { group: 'x', kind: 'Y' })]),
      [listener()],
      [accepted[0]!, 'ResolvedRefs=False InvalidKind'],
    ],
    [
      'a service of another namespace',
      httpRoute([backendTo('s', { namespace: 'other' })]),
      [listener()],
      [accepted[0]!, 'ResolvedRefs=False RefNotPermitted'],
    ],
    [
      'a filter that is not known',
      httpRoute([{ filters: [{ type: 'CORS' }], ...backendTo('s') }]),
      [listener()],
      ['Accepted=False UnsupportedValue', accepted[1]!],
    ],
    ...unsupportedFilters.map(([name, filter]): (typeof cases)[number] => [
      name,
      httpRoute([{ filters: [filter], ...backendTo('s') }]),
      [listener()],
      ['Accepted=False UnsupportedValue', accepted[1]!],
    ]),
    ...['RequestMirror', 'RequestRedirect'].map((type): (typeof cases)[number] => [
      `${type} of one backend`,
      httpRoute([backendTo('s', { filters: [{ type }] })]),
      [listener()],
      ['Accepted=False UnsupportedValue', accepted[1]!],
    ]),
    [
      'an expression that is none',
      httpRoute([{ matches: [{ path: { type: 'RegularExpression', value: '(' } }] }]),
      [listener()],
      ['Accepted=False UnsupportedValue', accepted[1]!],
    ],
  ];
  for (const [what, route, listeners, expected] of cases)
    test(what, () => {
      const built = build({
        gateways: [gateway(listeners)] as never,
        httpRoutes: [route] as never,
      });
      assert.deepEqual(parentReasons(built), [expected]);
      const attached = expected[0] === accepted[0] ? 1 : 0;
      assert.equal(built.gateways[0]?.listeners[0]?.attachedRoutes, attached);
      assert.equal(built.ports[0]?.routes.length, attached);
    });

  test('namespaces are selected: the same, all, by labels', () => {
    const from = (allowed: object) => {
      const gateways = [gateway([listener({ allowedRoutes: { namespaces: allowed } })])];
      return ['ns', 'labelled', 'other'].filter((namespace) => {
        const route = {
          ...httpRoute([backendTo('s')], { parentRefs: [{ name: 'g', namespace: 'ns' }] }),
          metadata: metadata('r', namespace),
        };
        const built = build({ gateways: gateways as never, httpRoutes: [route] as never });
        return built.gateways[0]?.listeners[0]?.attachedRoutes === 1;
      });
    };
    assert.deepEqual(from({ from: 'Same' }), ['ns']);
    assert.deepEqual(from({ from: 'All' }), ['ns', 'labelled', 'other']);
    assert.deepEqual(from({ from: 'Selector', selector: { matchLabels: { team: 'a' } } }), ['labelled']);
    assert.deepEqual(from({ from: 'Selector', selector: { matchExpressions: [{ key: 'x', operator: 'Like' }] } }), []);
  });

  test("a grant of the other namespace allows a route's reference, exactly as far as it states", () => {
    const grant = (from: object, to: object): ReferenceGrant => ({
      metadata: { name: 'x', namespace: 'other' },
      spec: {
        from: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: 'ns', ...from }],
        to: [{ group: '', kind: 'Service', ...to }],
      },
    });
    const resolved = (one: ReferenceGrant): boolean =>
      parentReasons(
        build({
          grants: [one],
          httpRoutes: [httpRoute([backendTo('s', { namespace: 'other' })])] as never,
        }),
      )[0]?.[1] === 'ResolvedRefs=True ResolvedRefs';
    const cases = [
      grant({}, {}),
      grant({}, { name: 's' }),
      grant({}, { name: 't' }),
      grant({ namespace: 'x' }, {}),
      grant({ kind: 'GRPCRoute' }, {}),
      grant({}, { kind: 'Secret' }),
    ];
    assert.deepEqual(cases.map(resolved), [true, true, false, false, false, false]);
  });

  test('the share of an invalid backend gets 500, that of one without endpoints 503', () => {
    const built = build({
      httpRoutes: [
        httpRoute([
          {
            backendRefs: [
              { name: 'missing', port: 80, weight: 1 },
              { name: 's', port: 80, weight: 2 },
            ],
          },
        ]),
      ] as never,
    });
    const [route] = listenersOf(built.ports)[0]!.routes;
    assert.deepEqual(
      route?.backends.map(({ backend, weight }) => [backend, weight]),
      [
        ['', 1],
        ['ns/s:80', 2],
      ],
    );
    assert.equal(route.emptyStatus, 500);
  });

  test('status entries of other controllers stay; ours are removed with the parent', () => {
    const other = { parentRef: { name: 'x' }, controllerName: 'example.com/other', conditions: [] };
    const own = { parentRef: { name: 'g' }, controllerName: 'keelson.dev/gateway', conditions: [] };
    const route = { ...httpRoute([]), status: { parents: [own, other] } } as HttpRoute;
    assert.deepEqual(routeParents(route, undefined, 'now'), [other]);
    const [verdict] = build({ httpRoutes: [route] as never }).routes;
    const [kept, mine] = routeParents(route, verdict, '2026-01-01T00:00:00Z');
    assert.deepEqual(kept, other);
    assert.deepEqual([mine?.parentRef, mine?.conditions?.[0]?.observedGeneration], [{ name: 'g' }, 3]);
  });
});
