import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rulesReviewStatus } from './rules-review.ts';

test('rules of resources and of paths stand apart, without fields that a rule does not have', () => {
  const rules = [
    { verbs: ['get'], apiGroups: [''], resources: ['pods'] },
    { verbs: ['get'], nonResourceURLs: ['/metrics'] },
  ];
  assert.deepEqual(rulesReviewStatus(rules), {
    resourceRules: [rules[0]],
    nonResourceRules: [rules[1]],
    incomplete: false,
  });
});

test('of very many rules the response has the first, and is marked incomplete', () => {
  const status = rulesReviewStatus(Array.from({ length: 25_000 }, () => ({ verbs: ['get'], resources: ['pods'] })));
  assert.deepEqual([status.resourceRules.length, status.incomplete], [10_000, true]);
  assert.equal(status.evaluationError, 'the first 10000 of 25000 rules');
});
