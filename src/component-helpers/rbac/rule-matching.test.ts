import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PolicyRule } from '../../api/gen/rbac-v1.ts';
import { type AccessQuestion, ruleAllows } from './rule-matching.ts';

const base: AccessQuestion = {
  verb: 'get',
  isResourceRequest: true,
  apiGroup: '',
  resource: 'pods',
  subresource: '',
  name: 'a',
  path: '',
};
const pods: PolicyRule = { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] };

const resourceCases: readonly [string, PolicyRule, Partial<AccessQuestion>, boolean][] = [
  ['the same', pods, {}, true],
  ['another verb', pods, { verb: 'delete' }, false],
  ['every verb', { ...pods, verbs: ['*'] }, { verb: 'delete' }, true],
  ['another group', pods, { apiGroup: 'apps' }, false],
  ['every group', { ...pods, apiGroups: ['*'] }, { apiGroup: 'apps' }, true],
  ['a resource does not cover its sub-resources', pods, { subresource: 'log' }, false],
  ['the sub-resource by name', { ...pods, resources: ['pods/log'] }, { subresource: 'log' }, true],
  ['a sub-resource does not cover its resource', { ...pods, resources: ['pods/log'] }, {}, false],
  ['one sub-resource of all resources', { ...pods, resources: ['*/scale'] }, { subresource: 'scale' }, true],
  ['and no other', { ...pods, resources: ['*/scale'] }, { subresource: 'status' }, false],
  ['nor resources', { ...pods, resources: ['*/scale'] }, {}, false],
  ['every resource covers sub-resources', { ...pods, resources: ['*'] }, { subresource: 'log' }, true],
  ['pods/* is no wildcard', { ...pods, resources: ['pods/*'] }, { subresource: 'log' }, false],
  ['a named object', { ...pods, resourceNames: ['a'] }, {}, true],
  ['another name', { ...pods, resourceNames: ['a'] }, { name: 'b' }, false],
  ['a list has no name', { ...pods, resourceNames: ['a'] }, { verb: 'list', name: '' }, false],
  ['empty names mean all', { ...pods, resourceNames: [] }, { name: 'b' }, true],
  ['names have no wildcard', { ...pods, resourceNames: ['*'] }, { name: 'b' }, false],
  ['a rule of paths covers no resources', { nonResourceURLs: ['*'], verbs: ['*'] }, {}, false],
];
for (const [name, rule, asked, wanted] of resourceCases) {
  test(`resource rule: ${name}`, () => assert.equal(ruleAllows(rule, { ...base, ...asked }), wanted));
}

const urlCases: readonly [string, string, boolean][] = [
  ['*', '/anything', true],
  ['/healthz', '/healthz', true],
  ['/healthz', '/healthz/ping', false],
  ['/healthz/*', '/healthz/ping', true],
  ['/healthz/*', '/healthz', false],
  ['/healthz*', '/healthz', true],
  ['/api/*/x', '/api/v1/x', false],
  ['/metrics**', '/metrics/x', true],
  ['**', '/metrics', true],
  ['/*/x*', '/*/xy', true],
];
for (const [pattern, path, wanted] of urlCases) {
  test(`path rule: ${pattern} ${wanted ? 'covers' : 'does not cover'} ${path}`, () => {
    const asked = { ...base, isResourceRequest: false, path };
    assert.equal(ruleAllows({ nonResourceURLs: [pattern], verbs: ['get'] }, asked), wanted);
    assert.equal(ruleAllows({ nonResourceURLs: [pattern], verbs: ['post'] }, asked), false);
  });
}

test('path rules of many stars are compared in an instant', () => {
  const pattern = `/${'*'.repeat(2_000_000)}x*`;
  const rule: PolicyRule = { nonResourceURLs: [pattern], verbs: ['get'] };
  assert.equal(ruleAllows(rule, { ...base, isResourceRequest: false, path: '/x' }), false);
});
