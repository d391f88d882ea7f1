/** Regular expressions of routes: an HTTPRoute may have thousands, each of which may become a program of megabytes. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { allSteps } from '../../base/steps.ts';
import { RouteTable } from '../data-plane/route-table.ts';
import type { Route } from '../snapshot/snapshot.ts';
import { backendTo, build, gateway, httpRoute, listener, view } from './build-gateways-fixture.ts';
import { convertRoute } from './route-rules.ts';

const large = (name: string): string => `${name}${'[a-z]{1000}'.repeat(8)}`;
const matchOf = (pattern: string) => ({ path: { type: 'RegularExpression', value: pattern } });
const routeOf = (patterns: readonly string[], more: object = {}) =>
  httpRoute([{ ...backendTo('s'), matches: patterns.map(matchOf) }], {}, more);
const verdictsOf = (routes: readonly object[]) =>
  build({ gateways: [gateway([listener()])] as never, httpRoutes: routes as never }).routes.map(
    ({ parents }) => parents[0]?.conditions.find(({ type }) => type === 'Accepted')?.reason,
  );
const numbered = (count: number, name: string): string[] => Array.from({ length: count }, (_, at) => `${name}${at}`);

describe('patterns of routes', () => {
  test('count in the budget of their route before they are compiled', () => {
    assert.deepEqual(verdictsOf([routeOf(numbered(4, '/a').map(large))]), ['Accepted']);
    assert.deepEqual(verdictsOf([routeOf(numbered(5, '/b').map(large))]), ['ResourceLimitExceeded']);
    // A pattern that does not compile is not reached.
    assert.deepEqual(verdictsOf([routeOf([...numbered(5, '/c').map(large), '['])]), ['ResourceLimitExceeded']);
    assert.deepEqual(verdictsOf([routeOf(['['])]), ['UnsupportedValue']);
  });

  test('count together for the routes of a namespace, and classes such as \\pL by the time they take', () => {
    const routes = numbered(6, 'r').map((name) => routeOf(numbered(4, `/${name}-`).map(large), { name }));
    const verdicts = verdictsOf(routes);
    assert.deepEqual(new Set(verdicts), new Set(['Accepted', 'ResourceLimitExceeded']));
    assert.equal(verdicts.filter((reason) => reason === 'Accepted').length, 4);
    assert.deepEqual(verdictsOf([routeOf(['/\\pL{1000}', '/x\\pL{1000}', '/y\\pL{1000}'])]), ['ResourceLimitExceeded']);
  });

  test('count by the characters of a class where case does not matter', () => {
    const wide = (path: string): string => `${path}(?i)${'[Ā-🙀]'.repeat(190)}`;
    assert.deepEqual(verdictsOf([routeOf(numbered(8, '/w').map(wide))]), ['ResourceLimitExceeded']);
  });

  test('are converted match by match', () => {
    const rules = numbered(16, '/d').map((name) => ({ ...backendTo('s'), matches: numbered(3, name).map(matchOf) }));
    const context = { services: { work: 0, resolve: () => ({ problem: { reason: 'BackendNotFound', message: '' } }) } };
    const steps = convertRoute(
      'HTTPRoute',
      httpRoute(rules) as never,
      { ...context, grants: [], policies: view } as never,
    );
    let count = 0;
    while (steps.next().done !== true) count++;
    assert.equal(count, 48);
    assert.equal(allSteps(convertRoute('HTTPRoute', httpRoute(rules) as never, context as never)).routes.length, 48);
  });

  test('are compiled in the data plane when a request needs them: all of these would take gigabytes', () => {
    const pattern = (at: number): string => `/e${at}${'[a-z]{1000}'.repeat(18)}`;
    const routes = Array.from(
      { length: 2_000 },
      (_, at): Route =>
        ({
          host: `e${at}.example`,
          match: { path: { type: 'regex', value: at === 1 ? '/e1.*' : pattern(at) } },
          rule: { backends: [] },
        }) as never,
    );
    const table = new RouteTable(routes);
    const request = { method: 'GET', query: '', header: () => undefined, host: 'e1.example' };
    assert.equal(table.find({ ...request, path: '/e1/x' }), routes[1]);
    assert.equal(table.find({ ...request, path: '/other' }), undefined);
  });
});
