import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allResources } from '../../api/gen/resources.ts';
import { evaluatorFor } from '../../component-helpers/quota/evaluators.ts';
import { MeasuredNames } from './measured-names.ts';

const lookups = { deviceClasses: () => [], pod: () => undefined, resourceClaims: () => [] };

for (const isLookedUp of [true, false])
  test(`a quota of tens of thousands of names is compared with all kinds in many turns, ${isLookedUp ? 'most' : 'none'} of them looked up`, async () => {
    let [inTurn, longest] = [0, 0];
    const measured = new MeasuredNames({
      yield: async () => {
        inTurn = 0;
      },
    });
    const names = [...Array.from({ length: 30_000 }, (_, at) => `count/a${at}.example.com`), 'count/configmaps'];
    const found: string[] = [];
    for (const info of allResources) {
      const evaluator = evaluatorFor(info, lookups);
      const counting = {
        ...evaluator,
        names: isLookedUp ? evaluator.names : undefined,
        measures(name: string) {
          longest = Math.max(longest, ++inTurn);
          return evaluator.measures(name);
        },
      };
      for (const name of await measured.of(counting, names)) found.push(name);
    }
    assert.ok(longest <= 20_000, String(longest));
    assert.deepEqual([...new Set(found)], ['count/configmaps']);
  });
