/** Owner references of any number: the reads they cause, and the nodes that are examined. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OwnerReference } from '../../api/gen/meta-v1.ts';
import type { KubernetesObject, Stored } from '../../api/object.ts';
import { blockingDependents, OwnerGraph } from './graph.ts';

const MANY = 8000;

const reference = (uid: string): OwnerReference => ({ apiVersion: 'v1', kind: 'ConfigMap', name: uid, uid });

function object(uid: string, ownerReferences?: OwnerReference[]): Stored<KubernetesObject> {
  const metadata = { name: uid, namespace: 'n', uid, resourceVersion: '1' };
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { ...metadata, ...(ownerReferences && { ownerReferences }) },
  };
}

function graphAndQueue() {
  const asked: string[] = [];
  const graph = new OwnerGraph({
    attemptToDelete: ({ identity }) => asked.push(identity.uid),
    attemptToOrphan: () => undefined,
    invalidReference: () => undefined,
  });
  return { graph, asked };
}

test('unseen owners are no nodes, and only objects that name them are examined', () => {
  const { graph, asked } = graphAndQueue();
  const owners = Array.from({ length: MANY }, (_, at) => reference(`o${at}`));
  for (const uid of ['a', 'b']) graph.observe(object(uid, owners));
  assert.equal(graph.size, 2);
  assert.deepEqual([...new Set(asked)], ['a', 'b']);
  assert.deepEqual(
    [...graph.dependentsOf('o7')].map(({ identity }) => identity.uid),
    ['a', 'b'],
  );
  graph.remove('a');
  graph.remove('b');
  assert.deepEqual([...graph.dependentsOf('o7')], []);
});

test('an object whose owners were all seen needs no read; one that lost an owner does', () => {
  const { graph, asked } = graphAndQueue();
  graph.observe(object('a', [reference('o1'), reference('o2')]));
  for (const uid of ['o1', 'o2']) {
    assert.equal(graph.needsVerification(graph.get('a')!), true);
    graph.observe(object(uid));
  }
  assert.equal(graph.needsVerification(graph.get('a')!), false);
  asked.length = 0;
  graph.remove('o2');
  assert.deepEqual(asked, ['a']);
  assert.equal(graph.needsVerification(graph.get('a')!), true);
});

test('dependents with thousands of owners are not walked for each of them', () => {
  const { graph } = graphAndQueue();
  let reads = 0;
  const counted = (uid: string): OwnerReference => ({
    ...reference(uid),
    get uid() {
      reads++;
      return uid;
    },
  });
  const owners = Array.from({ length: MANY }, (_, at) => counted(`o${at}`));
  graph.observe(object('a', owners));
  reads = 0;
  for (let at = 0; at < MANY; at++) {
    graph.observe(object(`o${at}`));
    assert.deepEqual(blockingDependents(graph, `o${at}`), []);
  }
  assert.ok(reads < 5 * MANY, `${reads} references looked at`);
});
