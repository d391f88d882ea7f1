/** Leaving a cluster whose members disagree, and ending an etcd that does not stop. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createNodeClock } from '../../platform/node/clock.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { startSpokenEtcd } from '../../storage/etcd/spoken-etcd-fixture.ts';
import { writeEtcdFile } from './etcd-file.ts';
import { endEtcd } from './etcd-process.ts';
import { createOwnEtcd, etcdPkiDir } from './own-etcd.ts';
import { removeEtcdMember } from './remove-etcd-member.ts';

test('members without a leader are asked again, and the cause is logged once', async (t) => {
  let lists = 0;
  const etcd = await startSpokenEtcd(() =>
    ++lists > 40 ? { status: 0 } : { status: 14, message: 'etcdserver: no leader' },
  );
  t.after(() => etcd.stop());
  const { files, log } = createSimPlatform();
  const [dataDir, pkiDir] = ['/data', '/data/pki'];
  await files.makeDir(etcdPkiDir(pkiDir));
  for (const name of ['ca.crt', 'client.crt', 'client.key'])
    await files.writeFileAtomic(`${etcdPkiDir(pkiDir)}/${name}`, 'unused without TLS');
  await writeEtcdFile(files, dataDir, { name: 'a', clientUrl: etcd.url, peerUrl: 'http://127.0.0.1:2', others: [] });
  const clock = { ...createNodeClock(), sleep: () => Promise.resolve() };
  assert.equal(await removeEtcdMember({ clock, files, log }, { dataDir, pkiDir }, 'b'), 'unknown');
  assert.deepEqual(
    log.entries.map(({ level, message }) => [level, message]),
    [['warn', 'waiting for the members of etcd to agree']],
  );
});

test('lists without the new member abort its start only when they are consecutive', async (t) => {
  const own = (isLearner: boolean) => [{ ID: '7', name: 'b', peerURLs: [peerUrl], clientURLs: [], isLearner }];
  const peerUrl = 'http://127.0.0.1:2';
  const lists = [[], [], own(true), [], []];
  const promoted: string[] = [];
  const etcd = await startSpokenEtcd((path) => {
    if (path.endsWith('/MemberList')) return { status: 0, members: lists.shift() ?? own(false) };
    promoted.push(path);
    return { status: 0 };
  });
  t.after(() => etcd.stop());
  const platform = createSimPlatform();
  platform.exec.program('etcd', () => ({}));
  await platform.files.makeDir('/proc');
  await platform.files.makeDir('/data');
  const initial = { cluster: '', state: 'existing' } as const;
  const { url } = etcd;
  await writeEtcdFile(platform.files, '/data', { name: 'b', clientUrl: url, peerUrl, others: [url], initial });
  const real = createNodeClock();
  const member = createOwnEtcd(
    { ...platform, clock: { ...real, sleep: () => real.yield() } },
    { dataDir: '/data', pkiDir: '/data/pki', logDir: '/data/log' },
  );
  const over = new AbortController();
  t.after(() => over.abort());
  await member.start(over.signal);
  assert.deepEqual(promoted, ['/etcdserverpb.Cluster/MemberPromote']);
});

test('an etcd that not even SIGKILL ends is an error that names it', async () => {
  const { clock, exec, files } = createSimPlatform();
  await files.makeDir('/proc/77');
  await files.writeFileAtomic('/proc/77/cmdline', '/usr/bin/etcd\0--data-dir\0/data/etcd/data\0');
  await files.writeFileAtomic('/proc/77/stat', `77 (etcd) S ${'0 '.repeat(18)}4242\n`);
  for (const name of ['77', 'self']) {
    await files.makeDir(`/proc/${name}`);
    await files.writeFileAtomic(`/proc/${name}/status`, 'Uid:\t0\t0\t0\t0\n');
  }
  const signals: unknown[] = [];
  const kill = (_: number, signal: unknown): boolean => (signal !== 0 && signals.push(signal), true);
  const ended = endEtcd({ clock, files, exec: { ...exec, kill } }, '/data/etcd');
  await assert.rejects(clock.drive(ended), /etcd \(pid 77\) does not end/);
  assert.deepEqual(signals, ['SIGTERM', 'SIGKILL']);
});
