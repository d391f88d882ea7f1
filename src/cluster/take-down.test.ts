import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSimPlatform } from '../platform/sim/sim-platform.ts';
import { takeDown } from './take-down.ts';

const dataDir = '/data';

for (const [name, file, deleted] of [
  ['a stopped cluster of simulated nodes', '/data/admin.kubeconfig', true],
  ['a start that failed at once', '/data/logs/keelson.log', true],
  ['a directory named by mistake', '/data/letters/to-grandmother.txt', false],
] as const)
  test(`--delete-data, ${name}: ${deleted ? 'deleted' : 'kept'}`, async () => {
    const platform = createSimPlatform();
    await platform.files.makeDir(file.slice(0, file.lastIndexOf('/')));
    await platform.files.writeFile(file, '');
    const problems = await takeDown(platform, { dataDir, deleteData: true });
    assert.deepEqual(problems, deleted ? [] : ['/data holds no data of a cluster: nothing is deleted']);
    assert.equal(await platform.files.exists(file), !deleted);
  });
