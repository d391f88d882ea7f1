import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compileRewrites } from './rewrite-name.ts';

describe('a name is rewritten as by Go’s regexp', () => {
  for (const [pattern, replacement, name, rewritten] of [
    ['^rancher/(.*)', 'mirrorproject/rancher-images/$1', 'rancher/pause', 'mirrorproject/rancher-images/pause'],
    ['^rancher/(.*)', 'x/$1', 'library/app', 'library/app'],
    ['^library/alpine$', 'my-org/alpine', 'library/alpine', 'my-org/alpine'],
    ['(.*)', 'p/$1', 'a/b', 'p/a/b'],
    ['^(?:library|)(.*)', 'hub/$1', 'library/app', 'hub/app'],
    ['a', 'b', 'a/ca/a', 'b/cb/b'],
    ['x*', '-', 'abxd', '-a-b-d-'],
    ['^(?P<org>[^/]+)/(.+)$', '${2}/$org', 'a/b', 'b/a'],
    ['^(.*)$', '$1x/${1}x', 'a', 'ax'],
    ['^(.*)$', 'n$$/$0$9/$none/$', 'a', 'n$/a/$'],
    ['^(.*)$', '/../$1//', 'a', '../a'],
    ['^(a|b)?/?(.*)$', '$1$2', 'a/b', 'ab'],
  ] as const)
    test(`${pattern} → ${replacement}: ${name}`, () =>
      assert.equal(compileRewrites([[pattern, replacement]])(name), rewritten));
});

test('the first rewrite that changes a name is the only one', () => {
  const rewrite = compileRewrites([
    ['^x/(.*)', 'y/$1'],
    ['^library/(.*)', 'library/$1'],
    ['^library/(.*)', 'one/$1'],
    ['^(.*)$', 'two/$1'],
  ]);
  assert.deepEqual(['library/a', 'x/a', 'z'].map(rewrite), ['one/a', 'y/a', 'two/z']);
});

test('the time of a rewrite is linear in the name', () => {
  const rewrite = compileRewrites([['^(([a-z])+.)+[A-Z]$', 'x']]);
  const name = 'a'.repeat(239);
  assert.equal(rewrite(name), name);
});

test('Go’s error of a wrong pattern', () =>
  assert.throws(() => compileRewrites([['a(b', 'c']]), /^.*error parsing regexp: missing closing \)/));
