/** The recipes of examples/recipes in a new folder with the packed package, as users install and run them. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { repositoryRoot } from '../../tools/repository.ts';

const run = promisify(execFile);

let folder: string;
// Programs of packages run with the same Node.js as this test.
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

test('the package has types, documents, schemas, examples and scenarios, and links of its README resolve', async () => {
  const root = join(folder, 'node_modules/keelson');
  for (const path of [
    'dist/types/testing/index.d.ts',
    'dist/types/testing/runners/vitest.d.ts',
    'docs/testing.md',
    'docs/scenario-steps.md',
    'docs/scenario.schema.json',
    'docs/images.schema.json',
    'examples/operator-test/operator.test.ts',
    'test/sim/node-power-loss.yaml',
  ])
    assert.ok(existsSync(join(root, path)), path);
  const readme = await readFile(join(root, 'README.md'), 'utf8');
  const links = [...readme.matchAll(/\]\(([^):#]+)(?:#[^)]*)?\)/g)].map(([, path = '']) => path);
  assert.ok(links.length > 3);
  assert.deepEqual(
    links.filter((path) => !existsSync(join(root, path))),
    [],
  );
});

test('strict types of the package have no errors', async () => {
  await writeFile(
    join(folder, 'strict.ts'),
    "import { Cluster, image, type appsV1 } from 'keelson/testing';\n" +
      "const cluster: Cluster = await Cluster.start({ nodes: 1, images: [image('web:1', { start: '1s' })] });\n" +
      "const web = await cluster.waitFor<appsV1.Deployment>('deployment/web', 'Available');\n" +
      'export const replicas: number | undefined = web.spec?.replicas;\n',
  );
  const compiler = join(repositoryRoot, 'node_modules/typescript/bin/tsc');
  const options = [
    '--noEmit',
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'esnext',
    '--typeRoots',
    join(repositoryRoot, 'node_modules/@types'),
    '--types',
    'node',
  ];
  await run(process.execPath, [compiler, ...options, 'strict.ts'], { cwd: folder });
});

test('vitest: matchers, informers, a fluent client, an operator on a framework, cdk8s', async () => {
  const { stdout } = await npm(folder, 'run', 'vitest');
  assert.match(stdout, /Tests +6 passed \(6\)/);
});

test('jest, without flags', async () => {
  const { stderr } = await npm(folder, 'run', 'jest');
  assert.match(stderr, /Tests: +2 passed, 2 total/);
});

test('node:test, with its promise hook disabled', async () => {
  const lines = [
    "import { test } from 'node:test';",
    "import { Cluster } from 'keelson/testing';",
    "test('a cluster comes up', async () => {",
    '  await using cluster = await Cluster.start();',
    "  await cluster.waitFor('node/node-1', 'Ready');",
    '});',
  ];
  await writeFile(join(folder, 'plain.test.mjs'), lines.join('\n'));
  const flags = ['--import', 'keelson/testing/node-test', '--test', '--test-reporter=tap', 'plain.test.mjs'];
  const { stdout } = await run(process.execPath, flags, {
    cwd: folder,
    env: { ...process.env, NODE_TEST_CONTEXT: undefined },
  });
  assert.match(stdout, /^# pass 1$/m);
});
