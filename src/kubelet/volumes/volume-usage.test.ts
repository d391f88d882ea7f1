/** Hostile content of volumes, counted on the real file system by the program and, without it, by a walk. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createNodeFiles } from '../../platform/node/files.ts';
import { createNodePlatform, type NodePlatform } from '../../platform/node/node-platform.ts';
import { createMemoryLog } from '../../platform/sim/log.ts';
import { measureVolume } from './volume-usage.ts';

let platform: NodePlatform;
let directory: string;
const sh = (script: string): string => execFileSync('sh', ['-ec', script], { cwd: directory, encoding: 'utf8' });
before(async () => {
  platform = createNodePlatform({ log: { level: 'error' } });
  directory = await mkdtemp(join(tmpdir(), 'usage-'));
});
after(() => {
  platform.close();
  sh('cd / && rm -rf "$OLDPWD"');
});

/** The command that creates each, and the resulting number of inodes, with the directory itself. */
const hostile: Readonly<Record<string, { readonly make: string; readonly inodes: number | undefined }>> = {
  'pipes, sockets of nobody and devices': { make: 'mkfifo a b', inodes: 3 },
  'links out of the volume and around in circles': { make: 'ln -s / root; ln -s . here; ln -s loop loop', inodes: 4 },
  'a file larger than the disk that holds nothing': { make: 'truncate -s 1T sparse', inodes: 2 },
  'names of every kind': {
    make: "touch -- '-rf' '--help' 'a b' \"$(printf 'x\\ny')\"",
    inodes: 5,
  },
  'what nobody may read': { make: 'mkdir -m 0 d; touch d/x', inodes: 3 },
  'directories deeper than a path can name': {
    make: `"${process.execPath}" -e "for (let i = 0; i < 1200; i++) { fs.mkdirSync('dddddddd'); process.chdir('dddddddd'); }"`,
    inodes: undefined,
  },
};

for (const [what, { make, inodes }] of Object.entries(hostile))
  for (const how of ['by the program', 'by a walk'])
    test(`${what}, counted ${how}`, async () => {
      const path = join(directory, `${what} ${how}`.replaceAll(' ', '-'));
      sh(`mkdir '${path}' && cd '${path}' && ${make}`);
      const absent = { run: () => Promise.reject(Object.assign(new Error('no du'), { code: 'ENOENT' })) };
      const of = {
        files: createNodeFiles(createMemoryLog()),
        exec: how === 'by a walk' ? { ...platform.exec, ...absent } : platform.exec,
      };
      const usage = await measureVolume(of, path, true);
      if (inodes !== undefined) assert.equal(usage.inodesUsed, inodes);
      else assert.ok(usage.inodesUsed > (how === 'by a walk' ? 400 : 1200), String(usage.inodesUsed));
      assert.ok(usage.usedBytes > 0 && usage.capacityBytes > 0);
    });
