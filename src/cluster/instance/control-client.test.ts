/** A running instance that does not answer, as after SIGSTOP or in a freezer. */
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
  mkdirSync(dir, { recursive: true });
  silent.listen(socketAddress(dir).path);
  await once(silent, 'listening');
});
after(() => {
  silent.close();
  rmSync(rootRunDir(dataDir), { recursive: true, force: true });
  rmSync(dataDir, { recursive: true, force: true });
});

it('an instance that does not answer is a specific error, not an absent one', async () => {
  await assert.rejects(requestControl(dataDir, 'stop', 20), {
    name: 'PreflightError',
    message: `keelson on ${dataDir} does not answer`,
  });
  assert.equal(await isInstanceThere(dataDir, 20), true);
});

it('no instance is none', async () => {
  assert.equal(await isInstanceThere(`${dataDir}/other`, 20), false);
});
