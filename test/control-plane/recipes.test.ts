/** The recipes of examples/recipes, in a fresh folder, with the package as it is packed: what a user installs and runs. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { repositoryRoot } from '../../tools/repository.ts';

const run = promisify(execFile);

let folder: string;
// Packages that have programs are run by the very Node.js that runs this.
const PATH = `${dirname(process.execPath)}:${process.env['PATH']}`;
const npm = (cwd: string, ...args: readonly string[]) =>
  run('npm', args, {
    cwd,
    env: { ...process.env, PATH, NODE_OPTIONS: '', NO_COLOR: '1' },
    maxBuffer: 64 * 1024 * 1024,
  });

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keelson-recipes-'));
  await cp(join(repositoryRoot, 'examples/recipes'), folder, { recursive: true });
  await npm(repositoryRoot, 'pack', '--ignore-scripts', '--pack-destination', folder);
  await npm(folder, 'install', '--ignore-scripts', '--no-audit', '--no-fund', './keelson-0.1.0.tgz');
});

after(() => rm(folder, { recursive: true, force: true }));

test('vitest: matchers, informers, a fluent client, an operator on a framework, cdk8s', async () => {
  const { stdout } = await npm(folder, 'run', 'vitest');
  assert.match(stdout, /Tests +6 passed \(6\)/);
});

test('jest, without flags', async () => {
  const { stderr } = await npm(folder, 'run', 'jest');
  assert.match(stderr, /Tests: +2 passed, 2 total/);
});
