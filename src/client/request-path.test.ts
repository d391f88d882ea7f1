import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClusterRoles, Pods } from '../api/gen/resources.ts';
import { collectionPath, objectPath } from './request-path.ts';

test('names are parts of a path, encoded', () => {
  assert.equal(objectPath(ClusterRoles, { name: 'system:a b' }).split('/').at(-1), 'system%3Aa%20b');
  assert.equal(objectPath(Pods, { namespace: 'a', name: 'p' }, 'log'), '/api/v1/namespaces/a/pods/p/log');
});

test('names that would lead elsewhere are refused, as by client-go', () => {
  for (const name of ['.', '..', 'a/b', 'a%2fb', '../..']) {
    assert.throws(() => objectPath(Pods, { namespace: 'a', name }), /^Error: invalid resource name/);
    assert.throws(() => objectPath(Pods, { namespace: name, name: 'p' }), /^Error: invalid namespace/);
    assert.throws(() => collectionPath(Pods, name), /^Error: invalid namespace/);
  }
});
