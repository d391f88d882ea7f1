import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseChallenges } from './challenge.ts';

describe('challenges of registries', () => {
  const hub = 'Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:a/b:pull"';
  for (const [header, expected] of [
    [
      hub,
      [
        [
          'bearer',
          { realm: 'https://auth.docker.io/token', service: 'registry.docker.io', scope: 'repository:a/b:pull' },
        ],
      ],
    ],
    ['Basic realm="a \\"b\\", c"', [['basic', { realm: 'a "b", c' }]]],
    ['BASIC Realm=x', [['basic', { realm: 'x' }]]],
    [
      'Negotiate, Basic realm="x" , charset = "UTF-8"',
      [
        ['negotiate', {}],
        ['basic', { realm: 'x', charset: 'UTF-8' }],
      ],
    ],
    ['', []],
    ['realm="x"', []],
    ['Basic realm="x', []],
    ['Negotiate dG9rZW4=', []],
    [`Basic realm="${'x'.repeat(5000)}"`, []],
  ] as const)
    test(header.slice(0, 60), () =>
      assert.deepEqual(
        parseChallenges(header).map(({ scheme, parameters }) => [scheme, { ...parameters }]),
        expected,
      ),
    );
});
