import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { completeLock, platformOf } from './complete-lock.mjs';

test('the platform is parsed from the name', () => {
  const cases = {
    '@a/darwin-arm64': { os: ['darwin'], cpu: ['arm64'] },
    '@oxlint/binding-linux-x64-musl': { os: ['linux'], cpu: ['x64'], libc: ['musl'] },
    '@oxlint/binding-linux-arm-gnueabihf': { os: ['linux'], cpu: ['arm'], libc: ['glibc'] },
    '@oxlint/binding-win32-ia32-msvc': { os: ['win32'], cpu: ['ia32'] },
    '@oxlint/binding-darwin-arm64': { os: ['darwin'], cpu: ['arm64'] },
    '@rolldown/binding-wasm32-wasi': { cpu: ['wasm32'] },
    fsevents: undefined,
  };
  for (const [name, expected] of Object.entries(cases)) assert.deepEqual(platformOf(name), expected, name);
});

test('missing packages of other platforms are added, other entries are unchanged', () => {
  const optionalDependencies = {
    'a-linux-x64': '1.0.0',
    'a-win32-x64': '1.0.0',
    'b-win32-x64': '^1.0.0',
    fsevents: '2.0.0',
  };
  const packages = {
    'node_modules/a': { dev: true, optionalDependencies },
    'node_modules/a-linux-x64': { version: '1.0.0' },
  };
  const { lock, added } = completeLock({ lockfileVersion: 3, packages });
  assert.deepEqual(added, ['node_modules/a-win32-x64']);
  assert.deepEqual(lock.packages['node_modules/a-win32-x64'], {
    version: '1.0.0',
    os: ['win32'],
    cpu: ['x64'],
    dev: true,
    optional: true,
  });
  assert.deepEqual(completeLock(lock).added, []);
});

test('this lock file is complete and contains no registry address', () => {
  const text = readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8');
  assert.deepEqual(completeLock(JSON.parse(text)).added, [], 'run: node tools/complete-lock.mjs');
  assert.doesNotMatch(text, /"resolved"/);
});

test("only developers' tools for other platforms have an entry without a hash", () => {
  const lock = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8'));
  const bare = Object.entries(lock.packages).filter(
    ([path, { integrity, link }]) => path !== '' && !integrity && !link,
  );
  for (const [path, { dev, optional }] of bare) {
    assert.ok(dev === true && optional === true, path);
    assert.ok(platformOf(path) !== undefined, path);
  }
});
