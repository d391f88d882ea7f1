/** Merged requirements of a quota's scopes match the same pods as each of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, ScopedResourceSelectorRequirement } from '../../api/gen/core-v1.ts';
import { podEvaluator } from './pod-evaluator.ts';
import { inScope, inScopes } from './scopes.ts';

const podOf = (priorityClassName: string | undefined, limits: Record<string, string> = {}): Pod => ({
  metadata: { name: 'p' },
  spec: { priorityClassName, containers: [{ name: 'c', image: 'i', resources: { limits } }] },
});
const pods = [undefined, '', 'a', 'b', 'c'].flatMap((name) => [podOf(name), podOf(name, { cpu: '1' })]);

/** Upstream: ScopedResourceSelectorRequirementsAsSelector. */
function expected({ scopeName, operator, values = [] }: ScopedResourceSelectorRequirement, { spec }: Pod): boolean {
  const name = spec?.priorityClassName ?? '';
  const isBestEffort = Object.keys(spec?.containers[0]?.resources?.limits ?? {}).length === 0;
  if (scopeName === 'BestEffort') return isBestEffort;
  if (scopeName === 'NotBestEffort') return !isBestEffort;
  if (scopeName !== 'PriorityClass') return false;
  if (operator === 'In') return values.includes(name);
  if (operator === 'NotIn') return !values.includes(name);
  return operator === 'Exists' ? name !== '' : operator === 'DoesNotExist' && name === '';
}

const priority = (operator: string, ...values: string[]): ScopedResourceSelectorRequirement => ({
  scopeName: 'PriorityClass',
  operator,
  ...(values.length > 0 && { values }),
});
const requirements: readonly ScopedResourceSelectorRequirement[] = [
  priority('In', 'a', 'b'),
  priority('In', 'b', 'c'),
  priority('NotIn', 'b'),
  priority('NotIn', 'c'),
  priority('Exists'),
  priority('DoesNotExist'),
  priority('Like', 'a'),
  { scopeName: 'BestEffort', operator: 'Exists' },
  { scopeName: 'NotBestEffort', operator: 'Exists' },
  { scopeName: 'Unknown', operator: 'Exists' },
];

test('one requirement', () => {
  for (const requirement of requirements)
    for (const pod of pods)
      assert.equal(
        inScope(podEvaluator, requirement, pod),
        expected(requirement, pod),
        JSON.stringify([requirement, pod]),
      );
});

test('every three requirements', () => {
  for (const first of requirements)
    for (const second of requirements)
      for (const third of requirements) {
        const matchExpressions = [first, second, third];
        for (const pod of pods)
          assert.equal(
            inScopes(podEvaluator, { scopeSelector: { matchExpressions } }, pod),
            matchExpressions.every((one) => expected(one, pod)),
            JSON.stringify([matchExpressions, pod]),
          );
      }
});

test('scopes by name are combined with requirements', () => {
  const spec = {
    scopes: ['NotBestEffort', 'PriorityClass'],
    scopeSelector: { matchExpressions: [priority('NotIn', 'a')] },
  };
  const matching = pods.filter((pod) => inScopes(podEvaluator, spec, pod));
  assert.deepEqual(
    matching.map((pod) => pod.spec?.priorityClassName),
    ['b', 'c'],
  );
});
