import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Row } from '../../api/table.ts';
import { countWords, failingOf } from './failing.ts';

const row = (name: string, word: string, ageMs: number, deleting = false): Row => ({
  uid: name,
  namespace: '',
  name,
  createdMs: 1_000_000 - ageMs,
  deleting,
  labels: {},
  cells: [name, word],
});
const status = ({ cells }: Row): string => String(cells[1]);

test('the most severe objects come first; short waits and deleted objects are left out', () => {
  const watched = [
    {
      kind: 'pods',
      status,
      rows: [
        row('waits', 'Pending', 90_000),
        row('starts', 'ContainerCreating', 10_000),
        row('crashes', 'CrashLoopBackOff', 5000),
        row('runs', 'Running', 90_000),
        row('goes', 'Error', 90_000, true),
      ],
    },
    {
      kind: 'deployments.apps',
      status,
      rows: [row('short', '1/3', 90_000), row('whole', '3/3', 90_000), row('new', '0/3', 1000)],
    },
    {
      kind: 'nodes',
      status,
      rows: [row('dead', 'NotReady', 90_000), row('cordoned', 'Ready,SchedulingDisabled', 90_000)],
    },
  ];
  const names = failingOf(watched, 1_000_000, 10).map((one) => one.row.name);
  assert.deepEqual(names, ['dead', 'crashes', 'short', 'waits']);
  assert.equal(failingOf(watched, 1_000_000, 2).length, 2);
  assert.deepEqual(countWords(watched[1]!.rows.concat(row('x', '3/3', 0)), status)[0], ['3/3', 2]);
});
