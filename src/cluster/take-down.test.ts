import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSimPlatform } from '../platform/sim/sim-platform.ts';
import { takeDown } from './take-down.ts';

const DATA_DIR = '/data';

for (const [name, deleted, ...paths] of [
  ['a stopped cluster of simulated nodes', true, 'admin.kubeconfig', 'pki/ca.crt', 'state.db'],
  ['a start that failed at once', true, 'logs/keelson.log'],
  ['simulated nodes whose port was taken', true, 'pki/ca.crt', 'state.db', 'state.db-wal', 'state.db-shm'],
  ['a snapshot restored before the first start', true, 'pki/ca.crt', 'state.db'],
  ['one restored twice', true, 'state.db', 'state.db.before-restore-1', 'state.db.before-restore-1-wal'],
  ['an etcd restored before the first start', true, 'pki/ca.crt', 'etcd.json', 'etcd/data/member/snap/db'],
  ['a start that was killed', true, 'keelson.lock', 'crashes/1.json', '.admin.kubeconfig.tmp-12-0', 'pki/ca.crt'],
  ['one killed while it took its lock', true, 'keelson.lock', 'keelson.lock-journal'],
  ['one killed at its first certificate', true, 'keelson.lock', 'logs/keelson.log', 'pki/.ca.crt.tmp-12-0'],
  ['a directory named by mistake', false, 'letters/to-grandmother.txt'],
  ['logs of somebody else', false, 'logs/mine.txt'],
  ['certificates of somebody else', false, 'pki/mine.pem'],
  ['an etcd of somebody else', false, 'etcd/member/snap/db'],
  ['a file of the name of a folder', false, 'pki'],
  ['certificates beside what is not ours', false, 'pki/ca.crt', 'vars'],
  ['a store beside what is not ours', false, 'state.db', 'letters/to-grandmother.txt'],
  ['a name that only begins like the store', false, 'state.dbase'],
] as const)
  test(`--delete-data, ${name}: ${deleted ? 'deleted' : 'kept'}`, async () => {
    const platform = createSimPlatform();
    const { files } = platform;
    const all = paths.map((path) => `${DATA_DIR}/${path}`);
    for (const path of all) {
      await files.makeDir(path.slice(0, path.lastIndexOf('/')));
      await files.writeFile(path, path.endsWith('.json') ? '{"others":[]}' : '');
    }
    const problems = await takeDown(platform, { dataDir: DATA_DIR, deleteData: true });
    assert.deepEqual(problems, deleted ? [] : ['/data holds no data of a cluster: nothing is deleted']);
    assert.deepEqual(await Promise.all(all.map((path) => files.exists(path))), Array(all.length).fill(!deleted));
  });
