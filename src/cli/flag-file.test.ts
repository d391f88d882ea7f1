import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFlagFile } from './flag-file.ts';
import { UserError } from './usage-error.ts';

test('the file of a flag is read, and an error names the flag', async () => {
  const files = {
    async readText(path: string): Promise<string> {
      if (path === 'there') return 'text';
      throw new Error(`no ${path}`);
    },
  };
  assert.equal(await readFlagFile(files, '--config', 'there'), 'text');
  await assert.rejects(
    readFlagFile(files, '--config', 'gone'),
    (error: UserError) => error instanceof UserError && error.message === '--config: no gone' && error.exitCode === 2,
  );
});
