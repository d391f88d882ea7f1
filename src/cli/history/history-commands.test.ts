import assert from 'node:assert/strict';
import { test } from 'node:test';
import { momentParam } from './get-history.ts';
import { targetOf } from './connect.ts';
import { asNew, overPresent } from './restored-object.ts';
import { tableText } from './table-text.ts';
import { unifiedDiff } from './unified-diff.ts';

test('a moment is a revision, a time or an age', () => {
  const nowMs = Date.UTC(2026, 0, 1, 12);
  assert.equal(momentParam('4711', nowMs), '4711');
  assert.equal(momentParam('-10m', nowMs), '2026-01-01T11:50:00.000Z');
  assert.equal(momentParam('2026-01-01T10:00:00Z', nowMs), '2026-01-01T10:00:00Z');
  for (const wrong of ['yesterday', '10m', '-', '']) assert.throws(() => momentParam(wrong, nowMs), /no revision/);
});

test('one object is named as KIND/NAME or KIND NAME', () => {
  assert.deepEqual(targetOf(['deploy/web']), { kind: 'deploy', name: 'web' });
  assert.deepEqual(targetOf(['deploy', 'web']), { kind: 'deploy', name: 'web' });
  for (const wrong of [['deploy'], ['deploy/'], ['a/b/c'], ['a/b', 'c/d'], ['a', 'b', 'c']])
    assert.throws(() => targetOf(wrong), /KIND\/NAME/);
});

test('pages of a table stand below one head, and no cell writes to the terminal', () => {
  const column = (name: string, priority: number) => ({ name, type: 'string', format: '', description: '', priority });
  const columnDefinitions = [column('Name', 0), column('Restarts', 0), column('Node', 1)];
  const page = (namespace: string, ...cells: unknown[]) => ({
    metadata: {},
    columnDefinitions,
    rows: [{ cells, object: { metadata: { namespace } } }],
  });
  const pages = [page('a', 'one', 3, 'n1'), page('b', '\u001b[2Jtwo\u009b\nmore', null, 'n2')];
  const text = (isWide: boolean, showsNamespaces: boolean): string[][] =>
    tableText(pages, { isWide, showsNamespaces })
      .split('\n')
      .map((line) => line.split(/ {3,}/));
  assert.deepEqual(text(false, false), [['NAME', 'RESTARTS'], ['one', '3'], ['^[[2Jtwo\\x9b...'], ['']]);
  assert.deepEqual(text(true, true)[1], ['a', 'one', '3', 'n1']);
  assert.equal(tableText([], { isWide: false, showsNamespaces: true }), '');
});

const lines = (...texts: readonly string[]): string => texts.map((text) => `${text}\n`).join('');

test('a unified diff has three lines of context, and a hunk per place', () => {
  const before = Array.from({ length: 30 }, (_, index) => `line ${index + 1}`);
  const after = before.with(4, 'other').toSpliced(24, 0, 'new');
  const diff = unifiedDiff({ name: 'a', text: lines(...before) }, { name: 'b', text: lines(...after) });
  const expected = [
    ...[
      '--- a',
      '+++ b',
      '@@ -2,7 +2,7 @@',
      ' line 2',
      ' line 3',
      ' line 4',
      '-line 5',
      '+other',
      ' line 6',
      ' line 7',
    ],
    ...[' line 8', '@@ -22,6 +22,7 @@', ' line 22', ' line 23', ' line 24', '+new', ' line 25', ' line 26', ' line 27'],
  ];
  assert.equal(diff, lines(...expected));
  assert.equal(unifiedDiff({ name: 'a', text: 'x\n' }, { name: 'b', text: 'x\n' }), '');
});

test('the diff of any two texts turns one into the other', () => {
  let seed = 7;
  const random = (below: number): number => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % below;
  for (let round = 0; round < 300; round++) {
    const text = (): string[] => Array.from({ length: random(12) }, () => 'abc'[random(3)]!);
    const [a, b] = [text(), text()];
    const diff = unifiedDiff({ name: 'a', text: lines(...a) }, { name: 'b', text: lines(...b) });
    if (diff === '') assert.deepEqual(a, b);
    else assert.deepEqual(patched(a, diff), b);
  }
});

function patched(from: readonly string[], diff: string): string[] {
  const result: string[] = [];
  let next = 0;
  for (const line of diff.split('\n').slice(2)) {
    const start = /^@@ -(\d+),(\d+)/.exec(line);
    if (start !== null) while (next < Number(start[1]) - 1) result.push(from[next++]!);
    else if (line.startsWith('+')) result.push(line.slice(1));
    else if (line !== '') {
      assert.equal(from[next], line.slice(1));
      if (line.startsWith(' ')) result.push(line.slice(1));
      next++;
    }
  }
  return [...result, ...from.slice(next)];
}

test('an object that is restored over an existing one keeps its identity, owners, finalizers and status', () => {
  const past = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', uid: 'then', resourceVersion: '5', labels: { a: '1' }, finalizers: ['old'] },
    spec: { x: 1 },
    status: { phase: 'Running' },
  };
  const present = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', uid: 'now', resourceVersion: '9', annotations: { b: '2' }, finalizers: ['new'] },
    spec: { x: 2 },
    status: { phase: 'Failed' },
  };
  assert.deepEqual(overPresent(past, present), {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', uid: 'now', resourceVersion: '9', labels: { a: '1' }, finalizers: ['new'] },
    spec: { x: 1 },
    status: { phase: 'Failed' },
  });
});

test('an object that is created again has a new identity', () => {
  const labels = { app: 'j', 'controller-uid': 'u', 'batch.kubernetes.io/controller-uid': 'u' };
  const job = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'j', namespace: 'n', uid: 'u', resourceVersion: '5', labels, finalizers: ['f'] },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels } } },
    status: { active: 1 },
  };
  assert.deepEqual(asNew(job, []), {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'j', namespace: 'n', labels: { app: 'j' } },
    spec: { template: { metadata: { labels: { app: 'j' } } } },
  });
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { nodeName: 'gone', x: 1 } };
  const owner = { apiVersion: 'v1', kind: 'Node', name: 'o', uid: 'o' };
  assert.deepEqual(asNew(pod, [owner]), { ...pod, metadata: { name: 'p', ownerReferences: [owner] }, spec: { x: 1 } });
});
