/** Patterns of routes: whole texts, and texts too long for the pattern's size. `ingress-routes.test.ts` tests hosts and paths. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { route } from './data-plane-fixture.ts';
import type { Route } from '../snapshot/snapshot.ts';
import { MatchWork } from './match-work.ts';
import { PatternTests } from './pattern-tests.ts';
import { RouteTable } from './route-table.ts';

const matches = (value: string, text: string): boolean => {
  const headers = [{ name: 'x-one', value, isRegex: true }];
  const table = new RouteTable([route({ match: { path: { type: 'prefix', value: '/' }, headers } })]);
  const header = (name: string): string | undefined => (name === 'x-one' ? text : undefined);
  return table.find({ host: 'h', method: 'GET', path: '/', query: '', header }) !== undefined;
};

test('a pattern must match the whole text', () => {
  assert.deepEqual(
    [matches('a|b', 'a'), matches('a|b', 'ab'), matches('[0-9]+', '12'), matches('[0-9]+', 'x12')],
    [true, false, true, false],
  );
});

test('a text that is too long for a large pattern does not match', () => {
  const large = '(a?b?c?d?e?){900}';
  assert.deepEqual([matches(large, 'aa'), matches(large, 'a'.repeat(900))], [true, false]);
  assert.equal(matches('a+', 'a'.repeat(30_000)), true);
});

test('the longest wildcard is tried first, and wildcards of one label only for the nearest name', () => {
  const table = new RouteTable([
    route({ source: 'one', host: '*.example', wildcardDepth: 'one' }),
    route({ source: 'many', host: '*.b.example', wildcardDepth: 'many' }),
    route({ source: 'deep', host: '*.e.d.c.b.example', wildcardDepth: 'one' }),
  ]);
  const find = (host: string): string | undefined =>
    table.find({ host, method: 'GET', path: '/', query: '', header: () => undefined })?.source;
  assert.deepEqual(['a.example', 'example', 'a.c.example', 'b.example', 'a.b.example', 'x.d.c.b.example'].map(find), [
    'one',
    undefined,
    undefined,
    'one',
    'many',
    'many',
  ]);
  assert.deepEqual(
    ['f.e.d.c.b.example', 'g.f.e.d.c.b.example', `${'a.'.repeat(120)}b.example`, '.example', 'other'].map(find),
    ['deep', 'many', 'many', 'one', undefined],
  );
});

test('exact paths, prefixes and expressions are tried in the order of the snapshot', () => {
  const of = (source: string, path: Route['match']['path'], more: object = {}): Route =>
    route({ source, match: { path, ...more } });
  const prefix = (value: string) => ({ type: 'prefix', value }) as const;
  const table = new RouteTable([
    of('exact', { type: 'exact', value: '/a/b' }, { method: 'POST' }),
    of('deep', prefix('/a/b/')),
    of('regex', { type: 'regex', value: '/a/.' }),
    of('a', prefix('/a')),
    of('twice', prefix('/a')),
    of('all', prefix('/'), { headers: [{ name: 'x', value: '1' }] }),
    of('empty segment', prefix('//')),
  ]);
  const find = (path: string, method = 'GET', x?: string): string | undefined =>
    table.find({ host: '', method, path, query: '', header: () => x })?.source;
  assert.equal(find('/a/b', 'POST'), 'exact');
  assert.equal(find('/a/b'), 'deep');
  assert.equal(find('/a/b/c'), 'deep');
  assert.equal(find('/a/c'), 'regex');
  assert.equal(find('/a/cc'), 'a');
  assert.equal(find('/a'), 'a');
  assert.equal(find('/ab'), undefined);
  assert.equal(find('/ab', 'GET', '1'), 'all');
  assert.equal(find('//x'), 'empty segment');
});

test('a request does no more work than one expression may, however many it is tried against', () => {
  const pattern = (end: number): string => `(a?){400}a{400}[y-z]{1,${end}}`;
  const expressions = Array.from({ length: 128 }, (_, at) =>
    route({
      match: { path: { type: 'prefix', value: '/' }, headers: [{ name: 'x', value: pattern(at + 1), isRegex: true }] },
    }),
  );
  const table = new RouteTable([...expressions, route({ source: 'last' })]);
  const find = (x: string) => {
    const work = new MatchWork();
    return [table.find({ host: '', method: 'GET', path: '/', query: '', header: () => x }, work)?.source, work.isSpent];
  };
  while (find('a')[1] === true);
  assert.deepEqual(find('a'), ['last', false]);
  assert.deepEqual(find('a'.repeat(1000))[1], true);
});

test('a request compiles a bounded number of patterns; later ones go on, and a new table keeps what is compiled', () => {
  const path = (value: string) => route({ match: { path: { type: 'regex', value } } });
  const routes = Array.from({ length: 20 }, (_, at) => path(`/${at}${'[a-z]{1000}'.repeat(10)}`));
  const spent = (table: RouteTable): boolean => {
    const work = new MatchWork();
    table.find({ host: '', method: 'GET', path: '/', query: '', header: () => undefined }, work);
    return work.isSpent;
  };
  const patterns = new PatternTests();
  const first = new RouteTable(routes, patterns);
  assert.deepEqual([spent(first), spent(first), spent(first)], [true, true, false]);
  assert.deepEqual(
    [spent(new RouteTable(routes, new PatternTests(patterns))), spent(new RouteTable(routes))],
    [false, true],
  );
});

test('a request is compared with a bounded number of values', () => {
  const queryParams = Array.from({ length: 16 }, (_, at) => ({ name: `p${at}`, value: at === 15 ? 'other' : '1' }));
  const refusing = { path: { type: 'prefix', value: '/' }, queryParams } as const;
  const query = queryParams.map(({ name }) => `${name}=1`).join('&');
  const spent = (count: number): boolean => {
    const work = new MatchWork();
    const table = new RouteTable(Array.from({ length: count }, () => route({ match: refusing })));
    table.find({ host: '', method: 'GET', path: '/', query, header: () => undefined }, work);
    return work.isSpent;
  };
  assert.deepEqual([spent(1_000), spent(13_000)], [false, true]);
});

test('prefixes of many depths count for each route that is put in order', () => {
  const spent = (count: number): boolean => {
    const work = new MatchWork();
    const routes = Array.from({ length: count }, (_, at) =>
      route({ match: { path: { type: 'prefix', value: '/a'.repeat(at % 500) || '/' }, method: 'PUT' } }),
    );
    new RouteTable(routes).find(
      { host: '', method: 'GET', path: '/a'.repeat(600), query: '', header: () => undefined },
      work,
    );
    return work.isSpent;
  };
  assert.deepEqual([spent(1_000), spent(5_000)], [false, true]);
});

test('of repeated query parameters the first one counts', () => {
  const queryParams = [{ name: 'a', value: '1' }];
  const table = new RouteTable([route({ match: { path: { type: 'prefix', value: '/' }, queryParams } })]);
  const finds = (query: string): boolean =>
    table.find({ host: '', method: 'GET', path: '/', query, header: () => undefined }) !== undefined;
  assert.deepEqual([finds('a=1&a=2'), finds('a=2&a=1'), finds('b=1')], [true, false, false]);
});
