import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Element } from './desired-rules.ts';
import { changeScript, rewriteScript, type TableConfig } from './nft-script.ts';

const table: TableConfig = { family: 4, name: 't', clusterCidr: '10.42.0.0/16', serviceCidr: '10.43.0.0/16', mark: 1 };

const elementsOf = (count: number): Element[] =>
  Array.from({ length: count }, (_, at) => ({
    id: `hairpin ${at}`,
    set: 'hairpin',
    key: `10.0.0.1 . ${at}`,
    value: '',
  }));

/** Steps of a script and its statements. */
function run(steps: Generator<undefined, string, undefined>): { steps: number; statements: number } {
  for (let count = 1; ; count++) {
    const { done, value } = steps.next();
    if (done === true)
      return { steps: count, statements: value.split('\n').filter((line) => line.startsWith('add element')).length };
  }
}

test('a transaction of many elements is made in steps, one of few in one', () => {
  const of = (count: number) => ({ chains: [], deletes: [], adds: elementsOf(count) });
  assert.deepEqual(run(changeScript(table, of(100))), { steps: 1, statements: 1 });
  const large = run(changeScript(table, of(100_000)));
  assert.equal(large.statements, 50);
  assert.ok(large.steps >= 60, `${large.steps} steps`);
  const whole = run(rewriteScript(table, { ...of(100_000), staleChains: [] }, false));
  assert.ok(whole.steps >= 60, `${whole.steps} steps`);
});
