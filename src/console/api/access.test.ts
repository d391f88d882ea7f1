import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Access, allows, allowsPath, type AccessAttributes } from './access.ts';

const pods = { group: '', resource: 'pods' };
const deployments = { group: 'apps', resource: 'deployments' };

test('rules are evaluated as RBAC does', () => {
  const access: Access = {
    complete: true,
    pathRules: [],
    rules: [
      { verbs: ['get', 'list'], apiGroups: [''], resources: ['pods', 'pods/log'] },
      { verbs: ['*'], apiGroups: ['apps'], resources: ['*'], resourceNames: ['web'] },
      { verbs: ['patch'], apiGroups: ['*'], resources: ['*/scale'] },
    ],
  };
  const rows: readonly [AccessAttributes, boolean][] = [
    [{ verb: 'list', kind: pods }, true],
    [{ verb: 'delete', kind: pods }, false],
    [{ verb: 'get', kind: pods, subresource: 'log' }, true],
    [{ verb: 'create', kind: pods, subresource: 'exec' }, false],
    [{ verb: 'delete', kind: deployments, name: 'web' }, true],
    [{ verb: 'delete', kind: deployments, name: 'other' }, false],
    [{ verb: 'list', kind: deployments }, false],
    [{ verb: 'patch', kind: deployments, subresource: 'scale', name: 'other' }, true],
  ];
  for (const [attributes, allowed] of rows)
    assert.equal(allows(access, attributes), allowed, JSON.stringify(attributes));
  assert.ok(
    allows({ rules: [], pathRules: [], complete: false }, { verb: 'delete', kind: pods }),
    'the server decides',
  );
});

test('paths of rules may end in a star', () => {
  const access = (...nonResourceURLs: string[]): Access => ({
    complete: true,
    rules: [],
    pathRules: [{ verbs: ['get'], nonResourceURLs }],
  });
  const rows: readonly [string, boolean][] = [
    ['/metrics', true],
    ['*', true],
    ['/metrics*', true],
    ['/metrics/*', false],
    ['/metric', false],
  ];
  for (const [pattern, allowed] of rows) assert.equal(allowsPath(access(pattern), 'get', '/metrics'), allowed, pattern);
  assert.equal(allowsPath(access('/metrics'), 'post', '/metrics'), false);
});
