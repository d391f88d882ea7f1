import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { PolicyRule } from '../../api/gen/rbac-v1.ts';
import { type AccessQuestion, ruleAllows } from '../../component-helpers/rbac/rule-matching.ts';
import { rulesAllow } from './rule-index.ts';

const few = (...values: string[]) => fc.array(fc.constantFrom(...values), { maxLength: 3 });
const rule = fc.record(
  {
    verbs: few('get', 'list', '*', 'delete'),
    apiGroups: few('', 'apps', '*'),
    resources: few('pods', 'pods/log', '*/log', '*', 'nodes'),
    resourceNames: few('a', 'b'),
    nonResourceURLs: few('/metrics', '/healthz*', '*'),
  },
  { requiredKeys: ['verbs'] },
);
const question = fc.record({
  verb: fc.constantFrom('get', 'list', 'watch', '*'),
  isResourceRequest: fc.boolean(),
  apiGroup: fc.constantFrom('', 'apps', 'batch'),
  resource: fc.constantFrom('pods', 'nodes', 'secrets'),
  subresource: fc.constantFrom('', 'log', 'exec'),
  name: fc.constantFrom('', 'a', 'c'),
  path: fc.constantFrom('/metrics', '/healthz/etcd', '/version'),
});

test('an indexed role allows what its rules allow one by one', () => {
  fc.assert(
    fc.property(fc.array(rule, { minLength: 33, maxLength: 60 }), question, (rules: PolicyRule[], asked) => {
      const wanted = rules.some((one) => ruleAllows(one, asked));
      assert.equal(rulesAllow(rules, asked), wanted);
      assert.equal(
        rulesAllow(rules.slice(0, 3), asked),
        rules.slice(0, 3).some((one) => ruleAllows(one, asked)),
      );
    }),
    { numRuns: 2000 },
  );
});

test('of a long role only candidate rules are evaluated', () => {
  let looks = 0;
  const rules = Array.from({ length: 20_000 }, (_, index) => ({
    apiGroups: [''],
    resources: [`kind-${index}`],
    get verbs() {
      looks++;
      return ['get'];
    },
  }));
  const asked: AccessQuestion = {
    verb: 'get',
    isResourceRequest: true,
    apiGroup: '',
    resource: 'kind-7',
    subresource: '',
    name: '',
    path: '',
  };
  assert.equal(rulesAllow(rules, asked), true);
  looks = 0;
  assert.equal(rulesAllow(rules, asked), true);
  assert.equal(rulesAllow(rules, { ...asked, resource: 'other' }), false);
  assert.ok(looks <= 2, `${looks} rules`);
});
