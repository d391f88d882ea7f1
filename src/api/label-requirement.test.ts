/** Selectors of many requirements mean what each of their requirements means, and cost an object no more than its labels. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSeededRandom } from '../platform/sim/random.ts';
import { type LabelOperator, type LabelRequirement, requirementsTest } from './label-requirement.ts';
import { compileLabelMap, compileLabelSelector } from './label-selector.ts';

const OPERATORS: readonly LabelOperator[] = ['=', '==', '!=', 'in', 'notin', 'exists', '!', 'gt', 'lt'];

test('labels meet many requirements when they meet each of them', () => {
  const random = createSeededRandom(1);
  const pick = <T>(list: readonly T[]): T => list[random.int(list.length)]!;
  const keys = ['a', 'b', 'c', 'toString', '__proto__'];
  const values = ['', '1', '2', 'x'];
  const seen = { met: 0, not: 0 };
  const others = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`other${at}`, '1']));
  for (let round = 0; round < 5000; round++) {
    const isEasy = random.int(2) === 0;
    const requirements = Array.from({ length: 9 + random.int(6) }, (): LabelRequirement => {
      const operator = isEasy ? pick<LabelOperator>(['!=', 'notin', '!', 'in']) : pick(OPERATORS);
      const count = operator.endsWith('in') ? random.int(4) : 1;
      return { key: pick(keys), operator, values: Array.from({ length: count }, () => pick(values)) };
    });
    const labels = Object.fromEntries(keys.filter(() => random.int(3) === 0).map((key) => [key, pick(values)]));
    const wanted = requirements.every((one) => requirementsTest([one])(labels));
    for (const more of [{}, others])
      assert.equal(
        requirementsTest(requirements)({ ...labels, ...more }),
        wanted,
        JSON.stringify({ requirements, labels }),
      );
    seen[wanted ? 'met' : 'not']++;
  }
  assert.ok(seen.met > 10 && seen.not > 10, JSON.stringify(seen));
  assert.equal(
    requirementsTest(Array.from({ length: 9 }, () => ({ key: 'a', operator: '!', values: [] })))(undefined),
    true,
  );
});

test('labels are compared with the requirements for them alone', () => {
  let reads = 0;
  const labels = new Proxy({ app: 'web' } as Record<string, string>, {
    getOwnPropertyDescriptor: (target, key) => (reads++, Reflect.getOwnPropertyDescriptor(target, key)),
    get: (target, key) => (reads++, Reflect.get(target, key) as string),
  });
  const matchExpressions = Array.from({ length: 10_000 }, (_, at) => [
    { key: `k${at}`, operator: 'DoesNotExist' },
    { key: 'app', operator: 'NotIn', values: [`v${at}`] },
  ]).flat();
  assert.equal(compileLabelSelector({ matchExpressions }).matches(labels), true);
  const map = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`k${at}`, 'v']));
  assert.equal(compileLabelMap({ app: 'web', ...map }).matches(labels), false);
  assert.ok(reads < 20, `${reads} reads`);
});

test('of the map of a service no more is read than differs from a pod', () => {
  const keys: string[] = [];
  const map = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`k${at}`, 'v']));
  const watched = new Proxy(map, {
    get: (target, key) => (keys.push(String(key)), Reflect.get(target, key) as string),
  });
  const selector = compileLabelMap(watched);
  assert.equal(compileLabelMap(watched), selector, 'read once');
  assert.deepEqual(
    [selector.matches({ app: 'web' }), selector.matches({ k0: 'v' }), selector.matches(undefined)],
    [false, false, false],
  );
  assert.deepEqual(keys, ['k0', 'k0', 'k1', 'k0']);
  assert.deepEqual([selector.matches({ ...map, app: 'web' }), selector.isEverything], [true, false]);
  assert.equal(compileLabelMap({ b: '1', a: '2' }).toString(), 'a=2,b=1');
  assert.deepEqual([compileLabelMap({}).isEverything, compileLabelMap({ toString: 'x' }).matches({})], [true, false]);
});
