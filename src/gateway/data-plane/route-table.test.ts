/** Patterns of routes: whole texts, and texts too long for the pattern's size. Hosts and paths: `ingress-routes.test.ts`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { route } from './data-plane-fixture.ts';
import { RouteTable } from './route-table.ts';

const matches = (value: string, text: string): boolean => {
  const headers = [{ name: 'x-one', value, isRegex: true }];
  const table = new RouteTable([route({ match: { path: { type: 'prefix', value: '/' }, headers } })]);
  const header = (name: string): string | undefined => (name === 'x-one' ? text : undefined);
  return table.find({ host: 'h', method: 'GET', path: '/', query: '', header }) !== undefined;
};

test('a pattern is for the whole text', () => {
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

test('of wildcards the longest is asked first, those of one label only for the nearest', () => {
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
