/** How etcd's answers about members are parsed. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createNodeClock } from '../../platform/node/clock.ts';
import { createEtcdMembers } from './members.ts';
import { startSpokenEtcd } from './spoken-etcd-fixture.ts';

describe('a removal', () => {
  for (const { message, isDone } of [
    { message: 'etcdserver: member not found', isDone: true },
    { message: 'etcdserver: member has already been removed', isDone: true },
    { message: 'etcdserver: the member has been permanently removed from the cluster', isDone: true },
    { message: 'etcdserver: re-configuration failed due to not enough started members', isDone: false },
  ])
    test(`"${message}": ${isDone ? 'done' : 'an error'}`, async (t) => {
      const etcd = await startSpokenEtcd(() => ({ status: 9, message }));
      t.after(() => etcd.stop());
      const members = createEtcdMembers({ clock: createNodeClock() }, { endpoints: [etcd.url] });
      t.after(() => members.close());
      if (isDone) await members.remove('1');
      else await assert.rejects(members.remove('1'), (error: Error) => error.message.includes(message));
    });
});
