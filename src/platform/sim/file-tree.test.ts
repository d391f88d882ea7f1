import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryFiles } from './files.ts';

test('the space in use follows every change, also through files that are open and have no name any more', async () => {
  const files = createMemoryFiles({ nowMs: () => 0, totalBytes: 1000, totalInodes: 100 });
  const used = async (): Promise<[number, number]> => {
    const { availableBytes, availableInodes } = await files.statFileSystem('/');
    return [1000 - availableBytes, 100 - availableInodes];
  };
  assert.deepEqual(await used(), [0, 1]);
  await files.makeDir('/a/b');
  await files.writeFile('/a/b/file', '12345');
  assert.deepEqual(await used(), [5, 4]);
  const open = await files.open('/a/b/file', 'a');
  await open.append('678');
  assert.deepEqual(await used(), [8, 4]);
  await files.writeFileAtomic('/a/b/file', '12');
  assert.deepEqual(await used(), [2, 4], 'what was replaced counts no more');
  await open.append('who sees this?');
  assert.deepEqual(await used(), [2, 4]);
  await files.rename('/a/b/file', '/a/b/file');
  await files.rename('/a/b', '/c');
  await files.symlink('/c/file', '/link');
  await files.writeFile('/link', '123');
  assert.deepEqual(await used(), [3, 5]);
  for (const path of ['/link', '/c/file']) await files.remove(path);
  await files.removeDir('/c');
  assert.deepEqual(await used(), [0, 2]);
});

test('paths with empty names, dots and links lead where they do on a real machine', async () => {
  const files = createMemoryFiles({ nowMs: () => 0 });
  await files.makeDir('/a/b');
  await files.writeFile('/a/file', 'text');
  await files.symlink('../file', '/a/b/up');
  for (const path of ['/a//file', '/a/./file', '/a/b/../file', '/a/b/up', '//a/file', '/a/b/../../a/file'])
    assert.equal(await files.readText(path), 'text', path);
  assert.equal(await files.exists('/'), true);
  assert.equal(await files.exists('/a/file/below'), false);
  await assert.rejects(files.stat('/a/file/below'), { code: 'ENOTDIR', path: '/a/file/below' });
  await files.symlink('/loop', '/loop');
  await assert.rejects(files.stat('/loop'), { code: 'ELOOP' });
});

test('a full disk refuses writes that need more space, and nothing else', async () => {
  const files = createMemoryFiles({ nowMs: () => 0, totalBytes: 100, totalInodes: 4 });
  await files.writeFile('/old', '12345');
  files.occupy(3);
  assert.equal((await files.statFileSystem('/')).availableBytes, 3);
  await files.writeFile('/new', '123');
  await assert.rejects(files.writeFile('/new', '1234'), { code: 'ENOSPC', syscall: 'write' });
  await files.writeFile('/old', '54321');
  await files.makeDir('/dir');
  await assert.rejects(files.writeFile('/one-too-many', ''), { code: 'ENOSPC' });
  await files.remove('/old');
  await files.writeFile('/new', '12345678');
  files.occupy(undefined);
  assert.equal((await files.statFileSystem('/')).availableBytes, 92);
});
