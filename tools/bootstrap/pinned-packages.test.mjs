import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { nodeIsNewEnough, nodePackage } from './node.mjs';
import { SetupError } from './phases.mjs';
import { fetchPinned, pinnedPackages } from '../../bin/fetch/pinned-packages.mjs';

const root = mkdtempSync(join(tmpdir(), 'keelson-pinned-'));
after(() => rmSync(root, { recursive: true, force: true }));

/** An npm whose `pack` writes this archive, and its arguments beside it. */
function fakeNpm(name, content) {
  const folder = join(root, name);
  mkdirSync(folder);
  const npm = join(root, `${name}-npm`);
  writeFileSync(npm, `#!/bin/sh\nprintf %s "$*" > arguments\nprintf %s '${content}' > package-1.0.0.tgz\n`);
  chmodSync(npm, 0o755);
  return { folder, npm: [npm] };
}

const integrity = `sha512-${createHash('sha512').update('the archive').digest('base64')}`;
const pins = { tool: { version: '1.0.0', integrity } };

test('the archive with the pinned hash is used', async () => {
  const options = fakeNpm('right', 'the archive');
  assert.equal(await fetchPinned('tool', { ...options, pins }), join(options.folder, 'package-1.0.0.tgz'));
});

test('an archive with another hash is refused, as is a package without a pin', async () => {
  await assert.rejects(fetchPinned('tool', { ...fakeNpm('wrong', 'another archive'), pins }), (error) => {
    assert.ok(error instanceof SetupError);
    assert.match(error.message, /^tool@1\.0\.0 has the hash sha512-\S+, which is not the pinned sha512-/);
    return true;
  });
  for (const name of ['other', 'constructor'])
    await assert.rejects(fetchPinned(name, { folder: root, npm: ['/no/such/program'], pins }), /has no pinned version/);
});

test('each pin is an exact version with a SHA-512, and Node.js is recent enough for each platform', () => {
  for (const [name, { version, integrity: hash }] of Object.entries(pinnedPackages)) {
    assert.match(version, /^\d+\.\d+\.\d+$/, name);
    assert.equal(Buffer.from(hash.replace(/^sha512-/, ''), 'base64').length, 64, name);
  }
  for (const arch of ['x64', 'arm64'])
    assert.ok(nodeIsNewEnough(`v${pinnedPackages[nodePackage('linux', arch)].version}`), arch);
});
