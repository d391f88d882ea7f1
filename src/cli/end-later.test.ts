/** A process whose work has ended while an open handle keeps it alive. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

const at = (file: string): string => JSON.stringify(new URL(file, import.meta.url).href);

const program = `
  const { createServer } = await import('node:net');
  const { endLater } = await import(${at('./end-later.ts')});
  createServer().listen(0, '127.0.0.1');
  process.exitCode = 7;
  endLater({ warn: (message, { open }) => console.log(message, open.join()) });`;

test('ends with its exit code, and lists the open handles', () => {
  const args = ['--conditions=keelson-source', '--input-type=module', '-e', program];
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 60_000 });
  assert.equal(status, 7);
  assert.match(stdout, /does not end by itself .*TCPServerWrap/);
});
