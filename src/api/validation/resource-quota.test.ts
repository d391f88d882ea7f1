import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResourceQuota, ResourceQuotaSpec, ScopedResourceSelectorRequirement } from '../gen/core-v1.ts';
import { validateResourceQuota, validateResourceQuotaStatus, validateResourceQuotaUpdate } from './resource-quota.ts';
import { complaints } from './complaints-fixture.ts';

test('quotas may name existing resources, and scopes that apply to them', () => {
  const cases: readonly (readonly [ResourceQuotaSpec, string[]])[] = [
    [{ hard: { cpu: '1', 'count/jobs.batch': '2', 'requests.hugepages-2Mi': '1Gi', 'requests.a.b/gpu': '1' } }, []],
    [{ hard: { 'gold.storageclass.storage.k8s.io/requests.storage': '1Gi' }, scopes: ['BestEffort'] }, []],
    [
      { hard: { nails: '1' } },
      [
        'spec.hard[nails]: Invalid value: "nails": must be a standard resource type or fully qualified',
        'spec.hard[nails]: Invalid value: "nails": must be a standard resource for quota',
      ],
    ],
    [{ hard: { pods: '1500m' } }, ['spec.hard[pods]: Invalid value: "1500m": must be an integer']],
    [{ hard: { pods: '1' }, scopes: ['Odd'] }, ['spec.scopes: Invalid value: ["Odd"]: unsupported scope']],
    [
      { hard: { pods: '1', cpu: '1' }, scopes: ['BestEffort'] },
      ['spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource'],
    ],
    [
      { hard: { services: '1' }, scopes: ['NotTerminating'] },
      ['spec.scopes: Invalid value: ["NotTerminating"]: unsupported scope applied to resource'],
    ],
    [
      { scopes: ['BestEffort', 'NotBestEffort'] },
      ['spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes'],
    ],
  ];
  for (const [spec, expected] of cases)
    assert.deepEqual(
      complaints((field) => validateResourceQuota({ metadata: {}, spec }, field)),
      expected,
      JSON.stringify(spec),
    );
});

test("a quota's scope selector is validated", () => {
  const selecting = (...matchExpressions: ScopedResourceSelectorRequirement[]) =>
    complaints((field) =>
      validateResourceQuota(
        { metadata: {}, spec: { hard: { pods: '1', configmaps: '1' }, scopeSelector: { matchExpressions } } },
        field,
      ),
    ).map((text) => text.replace(/Invalid value: [{[].*[}\]]: /, ''));
  const unfit = 'spec.scopeSelector.matchExpressions: unsupported scope applied to resource';
  const cases: readonly (readonly [ScopedResourceSelectorRequirement, string[]])[] = [
    [{ scopeName: 'PriorityClass', operator: 'Exists' }, []],
    [{ scopeName: 'PriorityClass', operator: 'In', values: ['high'] }, []],
    [{ scopeName: 'Terminating', operator: 'Exists' }, []],
    [
      { scopeName: 'PriorityClass', operator: 'NotIn' },
      [
        "spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
      ],
    ],
    [
      { scopeName: 'PriorityClass', operator: 'DoesNotExist', values: ['high'] },
      [
        "spec.scopeSelector.matchExpressions.values: must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
      ],
    ],
    [
      { scopeName: 'PriorityClass', operator: 'Is' },
      ['spec.scopeSelector.matchExpressions.operator: Invalid value: "Is": not a valid selector operator'],
    ],
    [
      { scopeName: 'BestEffort', operator: 'DoesNotExist' },
      [
        'spec.scopeSelector.matchExpressions.operator: Invalid value: "DoesNotExist": must be \'Exists\' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity',
      ],
    ],
  ];
  for (const [requirement, expected] of cases)
    assert.deepEqual(selecting(requirement), [unfit, ...expected], JSON.stringify(requirement));
  assert.deepEqual(
    selecting({ scopeName: 'Terminating', operator: 'Exists' }, { scopeName: 'NotTerminating', operator: 'Exists' }),
    [unfit, unfit, 'spec.scopeSelector.matchExpressions: conflicting scopes'],
  );
});

test('scopes of a quota are immutable, in any order', () => {
  const quota = (...scopes: string[]): ResourceQuota => ({ metadata: {}, spec: { scopes } });
  const changing = (from: ResourceQuota, to: ResourceQuota) =>
    complaints((field) => validateResourceQuotaUpdate(to, from, field));
  assert.deepEqual(changing(quota('Terminating', 'NotBestEffort'), quota('NotBestEffort', 'Terminating')), []);
  assert.deepEqual(changing(quota('Terminating'), quota()), ['spec.scopes: Invalid value: []: field is immutable']);
});

test('unchanged counts are not validated again, changed ones are', () => {
  const before = { status: { used: { 'count/a.b': '1', broken: '-1', worse: '1' } } } as unknown as ResourceQuota;
  const after = { status: { used: { 'count/a.b': '2', broken: '-1', worse: '-2' } } } as unknown as ResourceQuota;
  assert.deepEqual(
    complaints((field) => validateResourceQuotaStatus(after, before, field)),
    [
      'status.used[worse]: Invalid value: "worse": must be a standard resource type or fully qualified',
      'status.used[worse]: Invalid value: "worse": must be a standard resource for quota',
      'status.used[worse]: Invalid value: "-2": must be greater than or equal to 0',
    ],
  );
});
