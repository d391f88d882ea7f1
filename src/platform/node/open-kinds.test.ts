/** The result of `open` for foreign paths: no kind of file may block the call. Real and simulated files alike. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Files } from '../files.ts';
import { createMemoryFiles } from '../sim/files.ts';
import { createNodeFiles } from './files.ts';

const kinds: readonly { readonly name: string; readonly code?: string; readonly followed?: string }[] = [
  { name: 'file' },
  { name: 'fifo', code: 'EINVAL', followed: 'EINVAL' },
  { name: 'directory', code: 'EINVAL', followed: 'EINVAL' },
  { name: 'char', code: 'EINVAL', followed: 'EINVAL' },
  { name: 'socket', code: 'EINVAL|ENXIO', followed: 'EINVAL|ENXIO' },
  { name: 'link', code: 'ELOOP' },
  { name: 'link-to-fifo', code: 'ELOOP', followed: 'EINVAL' },
  { name: 'nothing', code: 'ENOENT', followed: 'ENOENT' },
];

async function makeKinds(files: Files, root: string, special: (path: string, kind: 'fifo' | 'char') => void) {
  await files.writeFile(`${root}/file`, 'text');
  await files.makeDir(`${root}/directory`);
  special(`${root}/fifo`, 'fifo');
  special(`${root}/char`, 'char');
  await files.symlink(`${root}/file`, `${root}/link`);
  await files.symlink(`${root}/fifo`, `${root}/link-to-fifo`);
}

const real = mkdtempSync(join(tmpdir(), 'kinds-'));
const memory = createMemoryFiles({ nowMs: () => 0 });
const server = createServer();

describe('open for reading', () => {
  before(async () => {
    await memory.makeDir('/k');
    await makeKinds(memory, '/k', memory.makeSpecial);
    memory.makeSpecial('/k/socket', 'socket');
    await makeKinds(createNodeFiles(), real, (path, kind) => {
      if (kind === 'fifo') execFileSync('mkfifo', [path]);
      else execFileSync('cp', ['--archive', '/dev/null', path]);
    });
    await new Promise<void>((resolve) => void server.listen(join(real, 'socket'), resolve));
  });
  after(() => {
    server.close();
    rmSync(real, { recursive: true, force: true });
  });
  for (const [about, files, root] of [
    ['real', createNodeFiles(), real],
    ['simulated', memory, '/k'],
  ] as const)
    for (const { name, code, followed } of kinds)
      for (const [followLinks, expected] of [
        [false, code],
        [true, followed],
      ] as const)
        it(`of a ${about} ${name}${followLinks ? ', links followed,' : ''} ends at once: ${expected ?? 'opened'}`, async () => {
          const opening = files.open(`${root}/${name}`, 'r', { followLinks });
          if (expected !== undefined)
            return assert.rejects(opening, (error: { code?: string }) =>
              expected.split('|').includes(error.code ?? ''),
            );
          const handle = await opening;
          assert.equal(Buffer.from(await handle.read(0, 100)).toString(), 'text');
          await handle.close();
        });
});
