/** The cost of a search for devices: the product of requests, selectors, constraints and devices. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../../api/gen/core-v1.ts';
import type { ResourceClaim, ResourceSlice } from '../../../api/gen/resource-v1.ts';
import { stored } from '../../../api/stored-fixture.ts';
import { allDevices, reachableDevices } from '../../devices/device-pools.ts';
import { deviceTest } from '../../devices/device-selectors.ts';
import { allocateClaims } from './allocator.ts';
import { wantedClaim } from './claim-requests.ts';
import { SearchBudget, SearchTimedOut, SearchUnfinished } from './search-budget.ts';

const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
const node = stored<Node>({ metadata: { name: 'a' } });
const slices = times(10, (pool): ResourceSlice => ({
  metadata: { name: `s${pool}` },
  spec: {
    driver: 'x.io',
    pool: { name: `p${pool}`, generation: 1, resourceSliceCount: 1 },
    nodeName: pool < 8 ? 'a' : 'b',
    devices: times(100, (at) => ({ name: `d${at}`, attributes: { a: { int: at } } })),
  },
}));
const classOfAll = { metadata: { name: 'any' }, spec: {} };

function claimOf(selectorsOf: (request: number) => string[]): ResourceClaim {
  const requests = times(8, (at) => ({
    name: `r${at}`,
    exactly: {
      deviceClassName: 'any',
      selectors: selectorsOf(at).map((expression) => ({ cel: { expression } })),
    },
  }));
  const constraints = times(32, () => ({ matchAttribute: 'x.io/a' }));
  return { metadata: { name: 'c', namespace: 'default' }, spec: { devices: { requests, constraints } } };
}

/** The number of attempts until there is a result, each with its own budget, as the scheduler makes them. */
function attemptsOf(claim: ResourceClaim, work: number): number {
  for (let attempt = 1; attempt <= 1000; attempt++) {
    const input = { node, pools: allDevices(slices), inUse: new Set<string>() };
    const claims = [wantedClaim(claim, () => classOfAll)];
    try {
      const [found] = allocateClaims({ ...input, claims, budget: new SearchBudget({ work }) }) ?? [];
      assert.equal(found?.devices?.results?.length, 8);
      return attempt;
    } catch (error) {
      if (!(error instanceof SearchUnfinished)) throw error;
    }
  }
  throw new Error('attempts make no progress');
}

test('an attempt that exhausts its budget ends, and the next continues there', () => {
  const claim = claimOf(() => times(10, (at) => `device.attributes["x.io"].a >= ${90 + (at % 5)}`));
  const distinct = claimOf((request) => times(10, (at) => `device.attributes["x.io"].a + ${request} >= ${90 + at}`));
  assert.ok(attemptsOf(claim, 3000) > 1);
  assert.ok(attemptsOf(distinct, 3000) > 10);
});

test('equal requests share the results about a device', () => {
  const same = claimOf(() => times(10, () => 'device.attributes["x.io"].a >= 99'));
  const distinct = claimOf((request) => times(10, () => `device.attributes["x.io"].a >= 99 || ${request} > 9`));
  assert.equal(attemptsOf(same, 100_000), 1);
  assert.ok(attemptsOf(distinct, 100_000) > 1);
});

test('claims of one template share the results about a device', () => {
  const selectorsOf = (request: number): string[] => [`device.attributes["x.io"].a >= 95 || ${request} > 9`];
  assert.ok(attemptsOf(claimOf(selectorsOf), 5_000) > 5);
  assert.equal(attemptsOf(claimOf(selectorsOf), 5_000), 1);
});

test('an expression counts by what it costs, also while it is compiled', () => {
  const numbers = `[${times(100, String).join(',')}]`;
  const costly = `${numbers}.all(x, ${numbers}.all(y, x + y >= 0))`;
  const long = `true${' && true'.repeat(1200)}`;
  const workOf = (expression: string): number[] => {
    const work: number[] = [];
    const test = deviceTest([{ cel: { expression } }]);
    for (let round = 0; round < 2; round++) assert.ok(test('x.io', { name: 'd' }, (units) => work.push(units)));
    return work;
  };
  const [, first, again] = workOf(costly);
  assert.ok(first! > 20_000 && again === first, String(first));
  const [compiling, ...runs] = workOf(long);
  assert.ok(compiling! > 8 * 1200 && runs.length === 2, String(compiling));

  const claim = claimOf((request) => [`${costly} || ${request} < -1`]);
  const budget = new SearchBudget({ work: 100_000 });
  const wanted = wantedClaim(claim, () => classOfAll);
  let examined = 0;
  const inUse = { has: () => ++examined < 0 };
  const search = () => allocateClaims({ node, pools: allDevices(slices), inUse, claims: [wanted], budget });
  assert.throws(search, SearchUnfinished);
  assert.ok(examined < 10, String(examined));
});

/** About 7 units of work for each pair of numbers. */
function pairs(count: number): string {
  const numbers = `[${times(count, String).join(',')}]`;
  return `${numbers}.all(x, ${numbers}.all(y, x + y >= 0))`;
}

/** As `attemptsOf` for one device; `isChanged`: each attempt has the claim as another object. */
function attemptsOfOne(expressions: readonly string[], isChanged: boolean): number {
  const pool = { name: 'p', generation: 1, resourceSliceCount: 1 };
  const slice = { metadata: { name: 's' }, spec: { driver: 'x.io', pool, nodeName: 'a', devices: [{ name: 'd' }] } };
  const selectors = expressions.map((expression) => ({ cel: { expression } }));
  const requests = [{ name: 'r', exactly: { deviceClassName: 'one', selectors } }];
  const claim = { metadata: { name: 'c' }, spec: { devices: { requests } } };
  const ofOne = { metadata: { name: 'one' }, spec: {} };
  for (let attempt = 1; attempt <= 20; attempt++) {
    const claims = [wantedClaim(isChanged ? { ...claim } : claim, () => ofOne)];
    try {
      assert.ok(allocateClaims({ node, pools: allDevices([slice]), inUse: new Set<string>(), claims }));
      return attempt;
    } catch (error) {
      if (!(error instanceof SearchUnfinished)) throw error;
    }
  }
  return Infinity;
}

test('selectors that together exceed an attempt are continued at the next one', () => {
  for (const isChanged of [false, true]) {
    const [exceeding, most] = [pairs(245), pairs(200)];
    assert.equal(attemptsOfOne([exceeding, 'true'], isChanged), 2);
    assert.equal(attemptsOfOne([exceeding, exceeding, exceeding], isChanged), 3);
    assert.equal(attemptsOfOne([most, most, most], isChanged), 2);
  }
});

test('shares of devices with many capacities count by the capacities', () => {
  const capacity = Object.fromEntries(times(32, (at) => [`c${at}`, { value: '1000Gi' }]));
  const shared = times(8, (pool): ResourceSlice => ({
    metadata: { name: `s${pool}` },
    spec: {
      driver: 'x.io',
      pool: { name: `p${pool}`, generation: 1, resourceSliceCount: 1 },
      nodeName: 'a',
      devices: times(100, (at) => ({ name: `d${at}`, allowMultipleAllocations: true, capacity })),
    },
  }));
  const requests = times(30, (at) => ({
    name: `r${at}`,
    exactly: { deviceClassName: 'any', capacity: { requests: { c0: '600Gi' } } },
  }));
  const claims = times(100, (at) =>
    wantedClaim({ metadata: { name: `c${at}` }, spec: { devices: { requests } } }, () => classOfAll),
  );
  let looked = 0;
  const shares = { has: () => false, get: () => void looked++ };
  const input = { node, pools: allDevices(shared), inUse: new Set<string>(), shares, claims };
  assert.equal(allocateClaims(input), undefined);
  assert.ok(looked < 2_000, String(looked));
});

test('devices of other nodes are not evaluated, and the order is the same', () => {
  const pools = allDevices(slices);
  const found = reachableDevices(node, pools);
  assert.deepEqual(
    found,
    pools.devices.filter(({ nodeName }) => nodeName === 'a'),
  );
});

test('after a long search few steps are left for each further node', () => {
  const budget = new SearchBudget();
  const stepsOfNode = (): number => {
    budget.nextNode();
    let steps = 0;
    while (budget.maySpend(1)) steps++;
    return steps;
  };
  assert.deepEqual(times(7, stepsOfNode), [20_000, 20_000, 20_000, 20_000, 19_996, 200, 200]);
});

test('the search for a node ends after its timeout, and each node has all of it', () => {
  let nowMs = 0;
  const clock = { monotonicMs: () => nowMs++ };
  const budget = new SearchBudget({ clock, timeoutMs: 5 });
  const questionsOfNode = (): number => {
    budget.nextNode();
    for (let questions = 1; ; questions++)
      try {
        budget.maySpend(1);
      } catch (error) {
        assert.ok(error instanceof SearchTimedOut);
        return questions;
      }
  };
  // Each reading of the clock is a millisecond later, and there is one in 32 questions.
  assert.deepEqual(times(3, questionsOfNode), [161, 192, 192]);
  const unlimited = new SearchBudget({ clock, timeoutMs: 0 });
  unlimited.nextNode();
  for (let questions = 0; questions < 1000; questions++) assert.ok(unlimited.maySpend(1));
});
