import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kindsOf } from '../api/discovery.ts';
import { findKind, kindId, listPath, objectPath, type Kind } from '../api/kinds.ts';
import { kindsFor, menuOf } from './menu.ts';

const entry = (resource: string, kind: string, shortNames: readonly string[] = []) => ({
  resource,
  responseKind: { kind },
  scope: 'Namespaced' as const,
  singularResource: kind.toLowerCase(),
  verbs: ['list'],
  shortNames,
});

const kinds: readonly Kind[] = kindsOf({
  items: [
    {
      metadata: {},
      versions: [{ version: 'v1', resources: [entry('pods', 'Pod', ['po']), entry('events', 'Event', ['ev'])] }],
    },
    {
      metadata: { name: 'events.k8s.io' },
      versions: [{ version: 'v1', resources: [entry('events', 'Event', ['ev'])] }],
    },
    {
      metadata: { name: 'example.org' },
      versions: [
        { version: 'v2', resources: [entry('widgets', 'Widget')] },
        { version: 'v1', resources: [entry('widgets', 'Widget'), entry('podgroups', 'PodGroup')] },
      ],
    },
  ],
});

test("a resource is listed once, in its group's preferred version", () => {
  assert.deepEqual(
    kinds.map((kind) => `${kindId(kind)} ${kind.version}`),
    ['pods v1', 'events v1', 'events.events.k8s.io v1', 'widgets.example.org v2', 'podgroups.example.org v1'],
  );
});

test('a word names a kind as in kubectl', () => {
  for (const word of ['po', 'pod', 'Pods', 'pods']) assert.equal(kindId(findKind(kinds, word)!), 'pods');
  assert.equal(kindId(findKind(kinds, 'ev')!), 'events');
  assert.equal(kindId(findKind(kinds, 'events.events.k8s.io')!), 'events.events.k8s.io');
  assert.equal(kindId(findKind(kinds, 'widget.example.org')!), 'widgets.example.org');
  assert.equal(findKind(kinds, 'nothing'), undefined);
  assert.deepEqual(kindsFor(kinds, 'pod').map(kindId), ['pods', 'podgroups.example.org']);
});

test("kinds outside the menu's subjects are listed by group", () => {
  const { main, other } = menuOf(kinds);
  assert.deepEqual(
    main.map((section) => section.kinds.map(kindId)),
    [['pods'], ['events']],
  );
  assert.deepEqual(
    other.map(({ title }) => title),
    ['example.org'],
  );
});

test('names in paths are escaped', () => {
  const kind = kinds[0]!;
  assert.equal(listPath(kind, 'a/b'), '/api/v1/namespaces/a%2Fb/pods');
  assert.equal(
    objectPath({ kind: kinds[3]!, namespace: 'ns', name: 'x?y' }, 'status'),
    '/apis/example.org/v2/namespaces/ns/widgets/x%3Fy/status',
  );
});
