/** The cache of V8's compiled code (bin/code-cache.cjs) across successive processes. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { describe, it, test } from 'node:test';

import { plantTree, type PlantedTree } from './planted-tree.ts';
import { repositoryRoot } from './repository.ts';

const { openCodeFile } = createRequire(import.meta.url)('../bin/code-file.cjs') as {
  openCodeFile(
    path: string,
  ): { readonly scripts: Readonly<Record<string, { readonly renewals: number }>>; close(): void } | undefined;
};

/** Loads the scripts of its arguments, and exits with CODE; with a short LASTS_MS, it kills itself once there is a file. */
const PROGRAM = `const { keepCodeOf, load } = require('./bin/load-bundle.cjs');
const { existsSync, readdirSync } = require('fs');
const { LASTS_MS, CODE, HOME } = process.env;
keepCodeOf('program', Number(LASTS_MS));
for (const name of process.argv.slice(2)) console.log(load(name).run());
process.exitCode = Number(CODE);
const folder = HOME + '/.cache/keelson/compile';
const isThere = () => existsSync(folder) && readdirSync(folder).some((name) => name.endsWith('.code'));
if (LASTS_MS === '1') setInterval(() => isThere() && process.kill(process.pid, 'SIGKILL'), 5);
`;

/** The cached data shows whether the function was compiled: V8 serializes no strings of uncompiled functions. */
const script = (word: string): string => `(function () {
return { run: () => (process.env.INNER ? inner() : '${word}') };
function inner() { return 'inside ' + '${word}'.length; }
})
`;

function plant(): PlantedTree {
  const tree = plantTree({
    'package.json': '{"type":"module"}',
    'program.cjs': PROGRAM,
    ...Object.fromEntries(['a', 'b', 'c'].map((word) => [`dist/${word}.js`, script(word)])),
  });
  cpSync(join(repositoryRoot, 'bin'), join(tree.root, 'bin'), { recursive: true });
  return tree;
}

function run({ root }: PlantedTree, names: readonly string[], env: NodeJS.ProcessEnv = {}): string {
  const args = [join(root, 'program.cjs'), ...names.map((name) => `${name}.js`)];
  const defaults = { HOME: root, LASTS_MS: '3600000', CODE: '0', NODE_V8_COVERAGE: undefined };
  const { stdout, stderr } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    cwd: root,
    env: { ...process.env, ...defaults, ...env },
  });
  assert.equal(stderr, '');
  return stdout;
}

function files({ root }: PlantedTree): string[] {
  return globSync('.cache/keelson/compile/*', { cwd: root }).map((name) => join(root, name));
}

/** The number of compilations of each script. */
function renewals(tree: PlantedTree): Record<string, number> {
  const [path = ''] = files(tree);
  const file = openCodeFile(path)!;
  file.close();
  return Object.fromEntries(Object.entries(file.scripts).map(([name, entry]) => [name[0], entry.renewals]));
}

describe('the cache of compiled code', () => {
  it('has the functions that were called, and is renewed only by the first processes', () => {
    using tree = plant();
    assert.equal(run(tree, ['a', 'b']), 'a\nb\n');
    const [path = ''] = files(tree);
    assert.doesNotMatch(readFileSync(path, 'latin1'), /inside/);
    assert.deepEqual(renewals(tree), { a: 1, b: 1 });
    assert.equal(run(tree, ['a', 'c'], { INNER: '1' }), 'inside 1\ninside 1\n');
    assert.match(readFileSync(path, 'latin1'), /inside/);
    assert.deepEqual(renewals(tree), { a: 2, b: 1, c: 1 }, 'what this process did not load is still there');
    run(tree, ['a']);
    run(tree, ['a']);
    const { ino } = statSync(path);
    assert.equal(run(tree, ['a']), 'a\n');
    assert.deepEqual([renewals(tree), statSync(path).ino], [{ a: 3, b: 1, c: 1 }, ino]);
    assert.deepEqual(files(tree), [path], 'nothing is left of the making');
  });

  it('is used only for the same text, and entries of removed scripts are deleted', () => {
    using tree = plant();
    run(tree, ['a', 'b']);
    tree.write('dist/a.js', script('z'));
    rmSync(join(tree.root, 'dist/b.js'));
    assert.equal(run(tree, ['a']), 'z\n');
    assert.deepEqual(renewals(tree), { a: 1 });
  });

  it('is not used when other users could have written it, nor when it is damaged or truncated', () => {
    using tree = plant();
    run(tree, ['a']);
    const [path = ''] = files(tree);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    const whole = readFileSync(path);
    for (const [mode, content] of [
      [0o620, whole],
      [0o602, whole],
      [0o600, whole.subarray(0, -1)],
      [0o600, Buffer.concat([whole.subarray(0, -4), Buffer.from('1234')])],
      [0o600, whole.subarray(0, 30)],
      [0o600, Buffer.from('something else')],
      [0o600, Buffer.alloc(0)],
    ] as const) {
      writeFileSync(path, content);
      chmodSync(path, mode);
      assert.equal(run(tree, ['a']), 'a\n');
      assert.deepEqual(renewals(tree), { a: 1 });
    }
  });

  it('is written while a process runs, not by one that crashed, and not during coverage', () => {
    using tree = plant();
    run(tree, ['a'], { CODE: '70' });
    run(tree, ['a'], { NODE_V8_COVERAGE: join(tree.root, 'coverage') });
    assert.deepEqual(files(tree), []);
    run(tree, ['a'], { LASTS_MS: '1' });
    assert.deepEqual(renewals(tree), { a: 1 });
  });

  it('is deleted after a month, by any checkout or package', () => {
    using tree = plant();
    const folder = '.cache/keelson/compile';
    for (const name of ['up-old.code', 'up-old.code.17.0', 'up-new.code', 'old-file']) {
      tree.write(`${folder}/${name}`, '');
      const days = name.includes('old') ? 31 : 29;
      const madeS = Date.now() / 1000 - days * 24 * 3600;
      utimesSync(join(tree.root, folder, name), madeS, madeS);
    }
    run(tree, ['a']);
    const left = files(tree).map((path) => basename(path).replace(/^program-.*/, 'program'));
    assert.deepEqual(left.toSorted(), ['old-file', 'program', 'up-new.code']);
  });

  it('has a limited number of files, the newest', () => {
    using tree = plant();
    const folder = '.cache/keelson/compile';
    for (let index = 0; index < 40; index++) {
      tree.write(`${folder}/f${index}.code`, '');
      const madeS = Date.now() / 1000 - 1000 - index;
      utimesSync(join(tree.root, folder, `f${index}.code`), madeS, madeS);
    }
    run(tree, ['a']);
    const left = files(tree).map((path) => basename(path));
    assert.equal(left.length, 24);
    assert.ok(left.includes('f22.code') && !left.includes('f23.code'));
  });

  it('leaves no file when it cannot be renamed, and does not wait when its path is a pipe', () => {
    using tree = plant();
    run(tree, ['a']);
    const [path = ''] = files(tree);
    rmSync(path);
    mkdirSync(path);
    assert.equal(run(tree, ['a']), 'a\n');
    assert.deepEqual(files(tree), [path]);
    rmSync(path, { recursive: true });
    spawnSync('mkfifo', [path]);
    assert.equal(run(tree, ['a']), 'a\n');
  });

  it('needs a home directory: none is created in the current folder', () => {
    using tree = plant();
    for (const HOME of ['', '.', 'home']) assert.equal(run(tree, ['a'], { HOME }), 'a\n');
    assert.deepEqual(globSync('**/.cache', { cwd: tree.root }), []);
  });

  it('is optional when no folder can be written', () => {
    using tree = plant();
    assert.equal(run(tree, ['a'], { HOME: join(tree.root, 'package.json') }), 'a\n');
    assert.deepEqual(files(tree), []);
  });
});

test('a script that another imports while it runs itself is run once', () => {
  using tree = plant();
  tree.write(
    'dist/main.js',
    `(function (require, importChunk) {
globalThis.runs = (globalThis.runs ?? 0) + 1;
importChunk('./part.js').then((part) => console.log(part.text()));
return { run: () => 'main' };
})
`,
  );
  tree.write(
    'dist/part.js',
    `(function (require) {
const main = require('./main.js');
return { text: () => main.run() + ' ran ' + globalThis.runs };
})
`,
  );
  assert.equal(run(tree, ['main']), 'main\nmain ran 1\n');
});

test('a process whose Date is forbidden, as in a simulation, ends without an error', () => {
  using tree = plant();
  run(tree, ['a']);
  const forbids = `(function () {
return { run: () => (globalThis.Date = new Proxy(Date, { get() { throw new Error('forbidden'); } }), 'b') };
})
`;
  writeFileSync(join(tree.root, 'dist', 'b.js'), forbids);
  assert.equal(run(tree, ['b']), 'b\n');
});
