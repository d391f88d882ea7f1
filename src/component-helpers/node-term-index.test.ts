import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeSelectorTerm } from '../api/gen/core-v1.ts';
import { someTermMatches } from './node-affinity.ts';
import { termsToTry } from './node-term-index.ts';

const COUNT = 8000;
const many = (make: (at: number) => NodeSelectorTerm): NodeSelectorTerm[] =>
  Array.from({ length: COUNT }, (_, at) => make(at));
const labels = { k7: 'x', zone: 'a' };
const node = { metadata: { name: 'n', labels } };

test('of thousands of terms with labels, only those with a label of the node are evaluated', () => {
  for (const operator of ['In', 'Exists', 'Gt', 'Lt']) {
    const terms = many((at) => ({
      matchExpressions: [
        { key: 'zone', operator: 'NotIn', values: ['b'] },
        { key: `k${at}`, operator, ...(operator !== 'Exists' && { values: ['x'] }) },
      ],
    }));
    assert.deepEqual(termsToTry(terms, labels), [terms[7]]);
    assert.deepEqual(termsToTry(terms), []);
  }
});

test('thousands of terms match as a few do', () => {
  const absent = many((at) => ({ matchExpressions: [{ key: `absent${at}`, operator: 'Exists' }] }));
  assert.equal(someTermMatches(absent, node), false);
  for (const term of [
    { matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] },
    { matchExpressions: [{ key: 'absent', operator: 'DoesNotExist' }] },
    { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n'] }] },
  ]) {
    assert.equal(someTermMatches([...absent, term], node), true);
    assert.equal(
      someTermMatches(
        [...absent, { ...term, matchFields: [{ key: 'metadata.name', operator: 'In', values: ['m'] }] }],
        node,
      ),
      false,
    );
  }
  assert.equal(someTermMatches([...absent, {}], node), false);
});
