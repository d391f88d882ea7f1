import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { PolicyRule } from '../../api/gen/rbac-v1.ts';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { uncoveredRules } from './rule-cover.ts';

const many = (prefix: string, count: number): string[] => Array.from({ length: count }, (_, at) => `${prefix}${at}`);
const wide = { apiGroups: many('g', 1000), resources: many('r', 1000), verbs: many('v', 1000) };

describe('rules of a billion rights are compared in an instant', () => {
  const cases: Readonly<Record<string, readonly [held: PolicyRule[], wanted: PolicyRule, missing: number]>> = {
    'nothing is held': [[], wide, 1000],
    'all is held': [[{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }], wide, 0],
    'all is held by many rules': [
      wide.verbs.map((verb) => ({ apiGroups: ['*'], resources: ['*'], verbs: [verb] })),
      wide,
      0,
    ],
    'the last right alone is missing': [
      [
        { ...wide, apiGroups: wide.apiGroups.slice(0, -1) },
        { ...wide, resources: wide.resources.slice(0, -1) },
        { ...wide, verbs: wide.verbs.slice(0, -1) },
      ],
      wide,
      1,
    ],
    'names of objects': [
      [
        { ...wide, resourceNames: ['n1'] },
        { ...wide, resourceNames: ['n2'] },
      ],
      { ...wide, resourceNames: ['n1', 'n2'] },
      0,
    ],
    'each name has a rule': [
      [
        { apiGroups: ['g0'], resources: wide.resources, verbs: ['v0'] },
        ...many('n', 3000).map((name) => ({
          apiGroups: ['g0'],
          resources: ['r0'],
          verbs: ['v0'],
          resourceNames: [name],
        })),
      ],
      { apiGroups: ['g0'], resources: wide.resources, verbs: ['v0'], resourceNames: many('n', 3000) },
      0,
    ],
    paths: [[], { nonResourceURLs: many('/p', 30_000), verbs: wide.verbs }, 1000],
  };
  for (const [name, [held, wanted, missing]] of Object.entries(cases))
    test(name, { timeout: 5000 }, () => assert.equal(uncoveredRules(held, [wanted]).length, missing));
});

/** The reference: each right on its own. Upstream: BreakdownRule and ruleCovers. */
function oneByOne(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  const has = (list: readonly string[] | undefined, ...values: readonly string[]): boolean =>
    ['*', ...values].some((value) => list?.includes(value) === true);
  const covered = (group: string, resource: string, verb: string, name: string | undefined): boolean =>
    held.some(
      (rule) =>
        has(rule.apiGroups, group) &&
        has(rule.resources, resource, resource.replace(/^.*\//, '*/')) &&
        has(rule.verbs, verb) &&
        (rule.resourceNames === undefined || (name !== undefined && rule.resourceNames.includes(name))),
    );
  const each = wanted.flatMap(({ apiGroups = [], resources = [], verbs, resourceNames = [undefined] }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        verbs.flatMap((verb) => resourceNames.map((name) => ({ group, resource, verb, name }))),
      ),
    ),
  );
  return each
    .filter(({ group, resource, verb, name }) => !covered(group, resource, verb, name))
    .map(({ group, resource, verb, name }) => ({
      apiGroups: [group],
      resources: [resource],
      verbs: [verb],
      ...(name !== undefined && { resourceNames: [name] }),
    }));
}

test('random rules: the missing rights and their order are those of a comparison right by right', () => {
  const random = createSeededRandom('rules');
  const some = (values: readonly string[]): string[] =>
    Array.from({ length: 1 + random.int(3) }, () => values[random.int(values.length)]!);
  const rule = (): PolicyRule => ({
    apiGroups: some(['', 'apps', 'batch', ...(random.int(6) === 0 ? ['*'] : [])]),
    resources: some(['pods', 'pods/log', 'jobs/log', ...(random.int(4) === 0 ? ['*/log', '*'] : [])]),
    verbs: some(['get', 'list', 'watch', ...(random.int(6) === 0 ? ['*'] : [])]),
    ...(random.int(3) === 0 && { resourceNames: some(['a', 'b', 'c']) }),
  });
  const rules = (most: number): PolicyRule[] => Array.from({ length: 1 + random.int(most) }, rule);
  for (let round = 0; round < 2000; round++) {
    const [held, wanted] = [rules(10), rules(2)];
    assert.deepEqual(uncoveredRules(held, wanted), oneByOne(held, wanted), JSON.stringify({ held, wanted }));
  }
});

test('a path pattern of many stars is compared in an instant', () => {
  const pattern = `/${'*'.repeat(2_000_000)}x*`;
  const rule: PolicyRule = { nonResourceURLs: [pattern], verbs: ['get'] };
  assert.equal(uncoveredRules([rule], [{ nonResourceURLs: ['/x'], verbs: ['get'] }]).length, 1);
});
