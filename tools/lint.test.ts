import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { plantTree } from './planted-tree.ts';
import { repositoryRoot } from './repository.ts';

interface LintReport {
  readonly number_of_files: number;
  readonly diagnostics: readonly { code: string; filename: string }[];
}

function lint(files: Record<string, string>): { found: string[]; fileCount: number } {
  const config = readFileSync(join(repositoryRoot, '.oxlintrc.json'), 'utf8');
  using tree = plantTree({ ...files, '.oxlintrc.json': config });
  const program = join(repositoryRoot, 'node_modules/oxlint/bin/oxlint');
  const { stdout } = spawnSync(process.execPath, [program, '--format=json', '.'], { cwd: tree.root, encoding: 'utf8' });
  const report = JSON.parse(stdout) as LintReport;
  const found = report.diagnostics.map(({ code, filename }) => `${filename} ${/\((.*)\)/.exec(code)?.[1] ?? code}`);
  return { found: found.sort(), fileCount: report.number_of_files };
}

/** Statements that the product may not contain, each with the rule that finds it. */
const banned: Record<string, string> = {
  'export const a = Date.now();': 'no-restricted-globals',
  'export const a = new Date(0);': 'no-restricted-globals',
  'export const a = performance.now();': 'no-restricted-globals',
  'export const a = setTimeout(() => 1, 1);': 'no-restricted-globals',
  'export const a = setInterval(() => 1, 1);': 'no-restricted-globals',
  'export const a = setImmediate(() => 1);': 'no-restricted-globals',
  "export const a = fetch('http://localhost');": 'no-restricted-globals',
  'export const a = globalThis.setTimeout;': 'no-restricted-properties',
  'export const a = globalThis.Date;': 'no-restricted-properties',
  'export const a = Math.random();': 'no-restricted-properties',
  'export const { random } = Math;': 'no-restricted-properties',
  'export const a = crypto.randomUUID();': 'no-restricted-properties',
  "export const a = process.env['HOME'];": 'no-restricted-properties',
  "export const a = (b: AbortSignal): void => b.addEventListener('abort', () => 1);": 'no-restricted-properties',
  'export const a = AbortSignal.timeout(1);': 'no-restricted-properties',
  'export const a = (): never => process.exit(1);': 'no-restricted-properties',
  "console.log('x');": 'no-console',
  'const a = 1;\nexport default a;': 'no-default-export',
  'export const a: any = 1;': 'no-explicit-any',
  'export const a = (): void => void Promise.reject(new Error());': 'no-void',
  'export function a(): void {\n  return void Promise.reject(new Error());\n}': 'no-void',
  'export const a = (b: number, c: number, d: number, e: number, f: number): number => b + c + d + e + f;':
    'max-params',
  'export function a(): void {\n  try {\n    a();\n  } catch {}\n}': 'no-empty',
  'export const a = 1;\nexport const b = (): number => [2].reduce((a) => a);': 'no-shadow',
};

test('each banned statement is found in the product, and time and timers also in its tests', () => {
  const statements = Object.entries(banned);
  const files = Object.fromEntries(statements.map(([text], index) => [`src/kubelet/f${index}.ts`, `${text}\n`]));
  const { found, fileCount } = lint({
    ...files,
    'src/kubelet/z.test.ts': 'setTimeout(() => 1, 1);\n',
    'test/sim/z.test.ts': 'setTimeout(() => 1, 1);\n',
  });
  const expected = statements.map(([, rule], index) => `src/kubelet/f${index}.ts ${rule}`);
  expected.push('src/kubelet/z.test.ts no-restricted-globals', 'test/sim/z.test.ts no-restricted-globals');
  assert.deepEqual(found, expected.sort());
  assert.equal(fileCount, statements.length + 2);
});

test('the real adapters, the command line, the tools and integration tests may use time and environment', () => {
  const text = "export const a = [Date.now(), setTimeout(() => 1, 1), process.env['HOME'], Math.random()];\n";
  const paths = [
    'src/platform/node/clock.ts',
    'src/cli/main.ts',
    'tools/x.ts',
    'test/integration/x.test.ts',
    'bench/x.ts',
  ];
  const { found, fileCount } = lint(Object.fromEntries(paths.map((path) => [path, text])));
  assert.deepEqual(found, []);
  assert.equal(fileCount, paths.length);
});

test('files over 310 lines are found, blank lines and comments not counted', () => {
  const lines = (count: number): string => `${'export {};\n'.repeat(count)}${'\n// more\n'.repeat(50)}`;
  const { found } = lint({ 'src/api/a.ts': lines(310), 'src/api/b.ts': lines(311), 'src/api/gen/c.ts': lines(500) });
  assert.deepEqual(found, ['src/api/b.ts max-lines']);
});

test('an unawaited promise is found in the product, also behind void and in callbacks; tests may discard one', () => {
  const config = readFileSync(join(repositoryRoot, '.oxlintrc.promises.json'), 'utf8');
  const work = 'async function work(): Promise<void> {\n  await work();\n}\n';
  using tree = plantTree({
    '.oxlintrc.promises.json': config,
    'tsconfig.json': '{ "compilerOptions": { "strict": true, "target": "es2024" }, "include": ["src"] }',
    'src/bare.ts': `${work}work();\nexport {};\n`,
    'src/void.ts': `${work}void work();\nexport {};\n`,
    'src/then.ts': `${work}work().then(() => 1);\nexport {};\n`,
    'src/argument.ts': `${work}export const a = (b: (c: () => void) => void): void => b(() => work());\n`,
    'src/property.ts': `${work}export const a: { b: () => void } = { b: () => work() };\n`,
    'src/returned.ts': `${work}export function a(): () => void {\n  return () => work();\n}\n`,
    'src/variable.ts': `${work}export const a: () => void = () => work();\n`,
    'src/caught.ts': `${work}work().catch(() => undefined);\nexport {};\n`,
    'src/z.test.ts': `${work}void work();\nexport {};\n`,
  });
  const program = join(repositoryRoot, 'node_modules/oxlint/bin/oxlint');
  const args = [program, '--type-aware', '-c', '.oxlintrc.promises.json', '--format=json', '.'];
  const { stdout } = spawnSync(process.execPath, args, { cwd: tree.root, encoding: 'utf8' });
  const { diagnostics } = JSON.parse(stdout) as LintReport;
  assert.deepEqual(diagnostics.map(({ filename }) => filename).sort(), [
    'src/argument.ts',
    'src/bare.ts',
    'src/property.ts',
    'src/returned.ts',
    'src/then.ts',
    'src/variable.ts',
    'src/void.ts',
  ]);
});
