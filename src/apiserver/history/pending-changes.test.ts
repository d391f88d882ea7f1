import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HistoryRecords } from '../../storage/history-records.ts';
import type { StoreEvent } from '../../storage/store.ts';
import { RevisionCell } from '../watch-cache/revision-cell.ts';
import { PendingChanges } from './pending-changes.ts';

const KEY = '/registry/configmaps/a/b';
const deps = {
  newRecords: () => new HistoryRecords(),
  seal: (_: string, value: Uint8Array) => value,
  onDropped: () => assert.fail('nothing is dropped'),
};
const authorOf = (user: string) => ({ user, manager: 'm', verb: 'update', subresource: '' });

function event(revision: number): StoreEvent {
  return { type: 'put', key: KEY, revision, createRevision: revision, value: Buffer.from('{}') };
}

test('changes have the authors that were reported before them, shortly after them, and long after them', () => {
  const pending = new PendingChanges(deps);
  pending.startAt(500);
  pending.noteAuthor(KEY, 503, authorOf('before'));
  const known = new RevisionCell(KEY, 500, Buffer.from('{}'));
  for (let revision = 502; revision <= 1000; revision++)
    pending.take(event(revision), revision === 1000 ? known : undefined, revision);
  for (const [revision, user] of [
    [505, 'long after'],
    [999, 'after'],
    [1000, 'just after'],
    [500, 'of what was known'],
  ] as const)
    pending.noteAuthor(KEY, revision, authorOf(user));
  const changes = [...pending.cut(Infinity)!.records.objects!];
  const users = Object.fromEntries(changes.map(({ revision, author }) => [revision, author?.user]));
  assert.deepEqual(
    [500, 502, 503, 505, 999, 1000].map((revision) => users[revision]),
    [undefined, undefined, 'before', 'long after', 'after', 'just after'],
  );
});
