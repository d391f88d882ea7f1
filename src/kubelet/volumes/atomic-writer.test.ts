/** The atomic writer: the content that readers see, and leftover files. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { validatePayloadPath, writeAtomically, type ProjectedFile } from './atomic-writer.ts';

const { files } = createSimPlatform();

async function write(targetDir: string, contents: Record<string, string>, suffix: string): Promise<boolean> {
  await files.makeDir(targetDir);
  const payload = new Map<string, ProjectedFile>(
    Object.entries(contents).map(([path, text]) => [path, { data: Buffer.from(text), mode: 0o640 }]),
  );
  return writeAtomically({ files, targetDir, payload, nowMs: 1_767_225_600_000, suffix });
}

test('writes once, leaves equal content alone, swaps by one link', async () => {
  assert.equal(await write('/v', { a: '1', 'dir/b': '2' }, '000000001'), true);
  assert.equal(await files.readLink('/v/..data'), '..2026_01_01_00_00_00.000000001');
  assert.equal(await files.readLink('/v/a'), '..data/a');
  assert.equal(await files.readLink('/v/dir'), '..data/dir');
  assert.equal(await files.readText('/v/dir/b'), '2');
  assert.equal((await files.stat('/v/a')).mode, 0o640);
  assert.equal(await write('/v', { a: '1', 'dir/b': '2' }, '000000002'), false);
  assert.equal(await write('/v', { a: '1', c: '3' }, '000000003'), true);
  assert.deepEqual(await files.readDir('/v'), ['..2026_01_01_00_00_00.000000003', '..data', 'a', 'c']);
});

test('leftovers of a killed process are removed, foreign files stay', async () => {
  await write('/w', { a: '1' }, '000000001');
  await files.makeDir('/w/..2025_12_31_00_00_00.5');
  await files.symlink('nowhere', '/w/..data_tmp');
  await files.remove('/w/a');
  await files.writeFile('/w/other', 'x');
  assert.equal(await write('/w', { a: '1' }, '000000002'), false);
  assert.equal(await files.readText('/w/a'), '1');
  assert.equal(await write('/w', { a: '2' }, '000000003'), true);
  assert.deepEqual(await files.readDir('/w'), ['..2026_01_01_00_00_00.000000003', '..data', 'a', 'other']);
});

test("paths that leave the volume or take the writer's names are refused", () => {
  for (const path of ['', '/a', '..', 'a/../b', '..data', '..x/y', 'x'.repeat(256), 'a/'.repeat(2049)])
    assert.throws(() => validatePayloadPath(path), /^Error: invalid path/, path);
  for (const path of ['a', 'a/..b', '.hidden', 'a.b/c']) validatePayloadPath(path);
});
