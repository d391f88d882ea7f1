/** The selectors that `matchLabelKeys` adds to a new pod. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../../../api/gen/core-v1.ts';
import { podStrategy } from './strategy.ts';

type Prepare = NonNullable<typeof podStrategy.prepareForCreate>;

function selectorWith(value: string): unknown {
  const terms = [
    { topologyKey: 'zone', labelSelector: {}, matchLabelKeys: ['app', 'absent'], mismatchLabelKeys: ['app'] },
  ];
  const affinity = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } };
  const pod: Pod = { metadata: { name: 'p', labels: { app: value } }, spec: { containers: [], affinity } };
  podStrategy.prepareForCreate?.(pod, {} as Parameters<Prepare>[1]);
  return terms[0]?.labelSelector;
}

test('the values of the pod are required and excluded', () => {
  assert.deepEqual(selectorWith('web'), {
    matchExpressions: [
      { key: 'app', operator: 'In', values: ['web'] },
      { key: 'app', operator: 'NotIn', values: ['web'] },
    ],
  });
});

test('a value that no label can have is not copied: one of a megabyte was validated for each of thousands of keys', () => {
  assert.deepEqual(selectorWith('x'.repeat(64)), {});
});
