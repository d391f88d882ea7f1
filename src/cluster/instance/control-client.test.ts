/** An instance that is there and answers nothing, as one that a signal or a freezer has stopped. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { isInstanceThere, requestControl } from './control-client.ts';
import { ownControlDir, rootRunDir, socketAddress } from './control-place.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'keelson-test-control-'));
const silent = createServer(() => undefined);

before(async () => {
  const dir = ownControlDir(dataDir);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  silent.listen(socketAddress(dir).path);
  await once(silent, 'listening');
});
after(() => {
  silent.close();
  rmSync(rootRunDir(dataDir), { recursive: true, force: true });
  rmSync(dataDir, { recursive: true, force: true });
});

it('an instance that does not answer is an error that says so, not one that is absent', async () => {
  await assert.rejects(requestControl(dataDir, 'stop', 20), {
    name: 'PreflightError',
    message: `keelson on ${dataDir} does not answer`,
  });
  assert.equal(await isInstanceThere(dataDir, 20), true);
});

it('no instance is none', async () => {
  assert.equal(await isInstanceThere(`${dataDir}/other`, 20), false);
});
