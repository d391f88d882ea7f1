import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { build } from './build.ts';
import { writeLibraryEntries } from './bundle-entries.ts';
import { plantTree, type PlantedTree } from './planted-tree.ts';
import { repositoryRoot } from './repository.ts';

const MAIN = `
import { pathToFileURL } from 'node:url';
const worker = new URL('../storage/sqlite/worker.ts', import.meta.url);
import('./lazy.ts').then(({ answer }) => {
  console.log(JSON.stringify([import.meta.url.replace(/.*\\//, ''), answer, worker.href.replace(/.*\\//, '')]));
});
`;

function plant(): PlantedTree {
  const tree = plantTree({
    'package.json': '{"type":"module"}',
    'src/cli/main.ts': MAIN,
    'src/cli/lazy.ts': 'export const answer: number = 42;\n',
    'src/storage/sqlite/worker.ts': 'export const worker: boolean = true;\n',
  });
  cpSync(join(repositoryRoot, 'bin'), join(tree.root, 'bin'), { recursive: true });
  return tree;
}

function start(root: string): unknown {
  return JSON.parse(execFileSync(process.execPath, [join(root, 'bin/keelson')], { encoding: 'utf8' }));
}

test('the launcher runs the bundle of these sources, else the sources', async () => {
  using tree = plant();
  assert.deepEqual(start(tree.root), ['main.ts', 42, 'worker.ts']);
  assert.match(await build(tree.root), /^\d+ files$/);
  assert.deepEqual(start(tree.root), ['main.js', 42, 'sqlite-worker.cjs']);
  assert.ok(existsSync(join(tree.root, 'dist/sqlite-worker.cjs')));

  tree.write('src/cli/lazy.test.ts', '// tests are no part of a build\n');
  assert.deepEqual(start(tree.root), ['main.js', 42, 'sqlite-worker.cjs']);
  tree.write('src/cli/lazy.ts', 'export const answer: number = 43;\n');
  assert.deepEqual(start(tree.root), ['main.ts', 43, 'worker.ts']);
  assert.match(await build(tree.root), /^\d+ files$/);
  assert.deepEqual(start(tree.root), ['main.js', 43, 'sqlite-worker.cjs']);
});

test('an installed package has no sources and runs its bundle', async () => {
  using tree = plant();
  await build(tree.root);
  renameSync(join(tree.root, 'src'), join(tree.root, 'gone'));
  assert.deepEqual(start(tree.root), ['main.js', 42, 'sqlite-worker.cjs']);
  renameSync(join(tree.root, 'dist'), join(tree.root, 'gone-dist'));
  const { status, stderr } = spawnSync(process.execPath, [join(tree.root, 'bin/keelson')], { encoding: 'utf8' });
  assert.equal(status, 1);
  assert.match(stderr, /^keelson: neither .* is there\n$/);
});

test('an older Node.js starts the fetched one as its replacement, or as a child when it cannot be replaced', () => {
  using tree = plantTree({
    'old.cjs': "Object.defineProperty(process.versions, 'node', { value: '22.15.0' });\n",
    'older.cjs': "Object.defineProperty(process.versions, 'node', { value: '20.0.0' });\ndelete process.execve;\n",
    'dist/main.js':
      '(function () {\nconst { pid, ppid, argv, env } = process;\n' +
      'console.log(JSON.stringify([pid, ppid, Number(env.KEELSON_LAUNCHER_PID), argv[2]]));\nprocess.exitCode = 3;\n})\n',
  });
  cpSync(join(repositoryRoot, 'bin'), join(tree.root, 'bin'), { recursive: true });
  const fetched = join(tree.root, `.cache/node24/node_modules/node-${process.platform}-${process.arch}/bin`);
  mkdirSync(fetched, { recursive: true });
  symlinkSync(process.execPath, join(fetched, 'node'));
  const startUnder = (preload: string) => {
    const args = ['--require', join(tree.root, preload), join(tree.root, 'bin/keelson'), 'version'];
    const { pid, status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    assert.deepEqual([status, stderr], [3, '']);
    return { pid, told: JSON.parse(stdout) as [number, number, number | null, string] };
  };
  const replaced = startUnder('old.cjs');
  assert.deepEqual(replaced.told, [replaced.pid, process.pid, null, 'version']);
  const waiting = startUnder('older.cjs');
  assert.deepEqual(waiting.told.slice(1), [waiting.pid, waiting.pid, 'version']);

  // When none was fetched, the message names the command of a checkout that fetches it; an installed package has no such script.
  rmSync(join(tree.root, '.cache'), { recursive: true });
  const refusal = (): string => {
    const args = ['--require', join(tree.root, 'old.cjs'), join(tree.root, 'bin/keelson'), 'version'];
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    assert.equal(status, 1);
    return stderr;
  };
  assert.match(
    refusal(),
    /^keelson: Node\.js 24\.15 or newer is needed; this is v\S+ \(https:\/\/nodejs\.org\S+ has it\)\n$/,
  );
  mkdirSync(join(tree.root, 'src'));
  assert.match(refusal(), /^keelson: .* \("npm run up" fetches it\)\n$/);
});

test('a second build has nothing to do; sources with a new time and equal content only renew the record', async () => {
  using tree = plant();
  await build(tree.root);
  assert.equal(await build(tree.root), '');
  const record = readFileSync(join(tree.root, 'dist/build.json'), 'utf8');
  utimesSync(join(tree.root, 'src/cli/main.ts'), 1, 1);
  assert.deepEqual(start(tree.root), ['main.ts', 42, 'worker.ts']);
  assert.equal(await build(tree.root), '');
  assert.notEqual(readFileSync(join(tree.root, 'dist/build.json'), 'utf8'), record);
  assert.deepEqual(start(tree.root), ['main.js', 42, 'sqlite-worker.cjs']);
});

test('a failed build reports the reason', async () => {
  using empty = plantTree({});
  await assert.rejects(build(empty.root), /^Error: nothing to build: src\/cli\/main\.ts is not there$/);
  using tree = plant();
  tree.write('src/cli/lazy.ts', "export const answer = new URL('./other.ts', import.meta.url);\n");
  await assert.rejects(
    build(tree.root),
    /src\/cli\/lazy\.ts starts \.\/other\.ts, which is no entry in tools\/build\.ts/,
  );
  tree.write('src/cli/lazy.ts', "export { answer } from 'no-such-package';\n");
  await assert.rejects(build(tree.root), /no-such-package/);
  assert.deepEqual(existsSync(join(tree.root, 'dist/build.json')), false);
});

test('a bundle is ASCII and has the same meaning: one wide character would double the text that V8 keeps', async () => {
  using tree = plant();
  const wide = "const name = 'b';\nexport const answer = ['a’😀', `c’${name}`, /^’😀$/u.test('’😀'), { 'k’': 1 }];\n";
  tree.write('src/cli/lazy.ts', wide);
  await build(tree.root);
  assert.deepEqual(start(tree.root), ['main.js', ['a’😀', 'c’b', true, { 'k’': 1 }], 'sqlite-worker.cjs']);
  for (const name of readdirSync(join(tree.root, 'dist')).filter((file) => file.endsWith('.js')))
    assert.doesNotMatch(readFileSync(join(tree.root, 'dist', name), 'utf8'), /[^\x00-\x7f]/, name);
});

test('a bundle does not load undici for node:http', async () => {
  using tree = plant();
  const marker = 'process.moduleLoadList.some((name) => name.includes("undici"))';
  tree.write(
    'src/cli/main.ts',
    `import * as http from 'node:http';\nconsole.log(JSON.stringify([typeof http.createServer, ${marker}]));\n`,
  );
  assert.deepEqual(start(tree.root), ['function', true]);
  await build(tree.root);
  assert.deepEqual(start(tree.root), ['function', false]);
});

const versionOnly = (version: string): string =>
  `Object.defineProperty(process.versions, 'node', { value: '${version}' }); Object.defineProperty(process, 'version', { value: 'v${version}' });`;

test('the entries of the test library load it, and report in one line a Node.js that is too old', () => {
  using tree = plantTree({
    'package.json': '{"type":"module"}',
    'dist/library.js': '(function () { return { answer: 42 }; })\n',
  });
  cpSync(join(repositoryRoot, 'bin'), join(tree.root, 'bin'), { recursive: true });
  const dist = join(tree.root, 'dist');
  const names = writeLibraryEntries(dist, 'entry', { script: 'library.js', exports: ['answer'] });
  assert.deepEqual(names, ['entry.js', 'entry.cjs']);
  const run = (version: string, script: string) =>
    spawnSync(process.execPath, ['--input-type=module', '-e', `${versionOnly(version)} ${script}`], {
      cwd: dist,
      encoding: 'utf8',
      env: { ...process.env, HOME: tree.root },
    });
  for (const script of [
    "const { answer } = await import('./entry.js'); console.log(answer)",
    "import { createRequire } from 'node:module'; console.log(createRequire(process.cwd() + '/x')('./entry.cjs').answer)",
  ]) {
    assert.equal(run(process.versions.node, script).stdout, '42\n');
    const { stderr, status } = run('22.10.0', script);
    assert.equal(status, 1);
    assert.match(stderr, /keelson\/testing needs Node.js 24.15 or newer; this is v22.10.0/);
    assert.doesNotMatch(stderr, /SyntaxError|throw error|triggerUncaught|^ +\^/m);
    assert.equal(stderr.match(/^ {4}at /gm)?.length, 1);
  }
});
