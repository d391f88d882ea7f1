// `npm run build`: bundles the sources into dist/, a script (chunk-script.ts) per entry and per part that loads on demand. Skips
// the work when the sources are those of the last build. dist/build.json holds what bin/keelson compares.
// The sources refer to files of workers and processes by `new URL('./worker.ts', import.meta.url)`; the build replaces such an
// address by the program in front of the entry's script, and fails when the file is no entry below.
import { createHash } from 'node:crypto';
import { existsSync, globSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative, resolve } from 'node:path';

import { rolldown, type Plugin } from 'rolldown';

import { buildConsole } from './build-console.ts';
import { writeLibraryEntries, writeProgram } from './bundle-entries.ts';
import { type ChunkScript, checkOrder, chunkScript } from './chunk-script.ts';
import { emitTypes } from './emit-types.ts';
import { isMain, repositoryRoot } from './repository.ts';

/** Bundles with their entry modules. Entries other than `main` are left out when their source is missing. */
export const entries: Readonly<Record<string, string>> = {
  main: 'src/cli/main.ts',
  'sqlite-worker': 'src/storage/sqlite/worker.ts',
  'history-worker': 'src/storage/sqlite/history/history-worker.ts',
  'yaml-worker': 'src/cluster/yaml/yaml-worker.ts',
  'change-group': 'src/platform/node/change-group-program.ts',
  spawner: 'src/platform/node/spawner.ts',
  dns: 'src/dns/main.ts',
  'sim-worker': 'src/cli/sim-worker.ts',
  'replay-worker': 'src/cli/replay-worker.ts',
  'testing-library': 'src/testing/index.ts',
  'testing-vitest-library': 'src/testing/runners/vitest.ts',
  'testing-jest-library': 'src/testing/runners/jest.ts',
};

/**
 * Small modules that nearly every part uses are grouped: otherwise the bundler would create a chunk for each set of parts that
 * shares some, and a start would load forty more. A group includes the modules that its modules import, so no two chunks import
 * each other. The YAML parser's modules load on demand. Groups are listed by priority, the highest first; for the bundler, a
 * negative priority is the highest.
 */
const sharedByAll = [
  { name: 'base', test: /[\\/]src[\\/](base|platform)[\\/][^\\/]+\.ts$/, priority: 3 },
  { name: 'api', test: /[\\/]src[\\/]api[\\/](codec[\\/])?(?!yaml\.)[^\\/]+\.ts$/, priority: 2 },
  {
    name: 'helpers',
    test: /[\\/]src[\\/](client|component-helpers)[\\/]((command-line|pki|quota|streaming)[\\/])?(?!statusz\.|kubeconfig\.)[^\\/]+\.ts$/,
    priority: 1,
  },
  { name: 'instance', test: /[\\/]src[\\/]cluster[\\/]instance[\\/][^\\/]+\.ts$/, priority: 0 },
];

/** Threads whose compiled code is cached. The other programs are small. */
const KEEPING_CODE: ReadonlySet<string> = new Set(['sqlite-worker', 'history-worker', 'yaml-worker', 'sim-worker']);

/** The folder of `keelson/testing`'s declarations, and the record of the sources that they were built from. */
const TYPES = 'types';
const TYPES_RECORD = 'types.json';

/** The folder of the browser's code, which `build-console.ts` manages. */
const CONSOLE = 'console';

/** The record of a build: the hash of the contents, and a cheap fingerprint of the files. */
interface BuildRecord {
  readonly contents: string;
  readonly fingerprint: string;
}

const { sourceFingerprint } = createRequire(import.meta.url)('../bin/fingerprint.cjs') as {
  sourceFingerprint(folder: string): string;
};

/**
 * Builds the checkout at `root`, if needed.
 * @returns what was done, in a few words; '' when the last build is of these sources
 * @throws Error with a clear message when the main source is missing or the bundler fails
 */
export async function build(root: string): Promise<string> {
  const main = join(root, entries['main'] ?? '');
  if (!existsSync(main)) throw new Error(`nothing to build: ${relative(root, main)} is not there`);
  const dist = join(root, 'dist');
  const record: BuildRecord = { contents: contentsHash(root), fingerprint: sourceFingerprint(join(root, 'src')) };
  const last = lastBuild(dist);
  if (last?.contents === record.contents) {
    if (last.fingerprint !== record.fingerprint) writeRecord(dist, record);
    return '';
  }
  rmSync(join(dist, 'build.json'), { force: true });
  const [files] = await Promise.all([bundle(root, dist), buildConsole(root, dist)]);
  removeOldFiles(dist, new Set(files));
  writeRecord(dist, record);
  return `${files.length} files`;
}

// Chunks of an earlier build are removed only after a day, because a process of that build may still load one.
function removeOldFiles(dist: string, current: ReadonlySet<string>): void {
  const keptMs = 24 * 3600 * 1000;
  for (const name of readdirSync(dist)) {
    const path = join(dist, name);
    if (
      !current.has(name) &&
      ![TYPES, TYPES_RECORD, CONSOLE].includes(name) &&
      Date.now() - statSync(path).mtimeMs > keptMs
    )
      rmSync(path, { recursive: true });
  }
}

/**
 * Builds the declarations of `keelson/testing` for the last build unless they are current, so that a packed `dist` has them even
 * when npm runs no scripts. Starting Keelson does not wait for it.
 * @throws Error with the compiler's messages
 */
export function buildTypes(root: string): void {
  const dist = join(root, 'dist');
  const record = join(dist, TYPES_RECORD);
  const contents = lastBuild(dist)?.contents;
  if (readRecord(record)?.contents === contents) return;
  rmSync(record, { force: true });
  emitTypes(root, join(dist, TYPES));
  writeFileSync(record, `${JSON.stringify({ contents })}\n`);
}

function lastBuild(dist: string): BuildRecord | undefined {
  return existsSync(join(dist, 'main.js')) ? readRecord(join(dist, 'build.json')) : undefined;
}

function readRecord(path: string): BuildRecord | undefined {
  if (!existsSync(path)) return undefined;
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as BuildRecord;
  } catch {
    return undefined; // an incomplete record is that of an interrupted build
  }
}

function writeRecord(dist: string, record: BuildRecord): void {
  writeFileSync(join(dist, 'build.json'), `${JSON.stringify(record)}\n`);
}

function contentsHash(root: string): string {
  const hash = createHash('sha256');
  const sources = globSync('src/**/*', { cwd: root, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath, entry.name));
  const tools = ['build.ts', 'build-console.ts', 'bundle-entries.ts', 'chunk-script.ts', 'changed-variables.ts'].map(
    (name) => join(import.meta.dirname, name),
  );
  const others = [join(root, 'package-lock.json'), ...tools].filter((path) => existsSync(path));
  for (const path of [...sources, ...others].sort()) {
    hash
      .update(`${relative(root, path)}\0`)
      .update(readFileSync(path))
      .update('\0');
  }
  return hash.digest('hex');
}

async function bundle(root: string, dist: string): Promise<string[]> {
  const present = Object.entries(entries).filter(([, source]) => existsSync(join(root, source)));
  const bundled = await rolldown({
    cwd: root,
    input: Object.fromEntries(present.map(([name, source]) => [name, join(root, source)])),
    platform: 'node',
    tsconfig: false,
    plugins: [entryAddresses(root), scripts()],
    onLog(level, log, handle) {
      if (log.code === 'UNRESOLVED_IMPORT') throw new Error(log.message);
      if (log.code !== 'CIRCULAR_DEPENDENCY' && log.code !== 'EVAL') handle(level, log);
    },
  });
  try {
    const { output } = await bundled.write({
      dir: dist,
      format: 'esm',
      entryFileNames: '[name].js',
      chunkFileNames: '[name]-[hash].js',
      comments: false,
      codeSplitting: { groups: sharedByAll },
    });
    const written = output.flatMap((file) => {
      if (file.type !== 'chunk' || !file.isEntry) return [];
      const library = /^(.*)-library$/.exec(file.name)?.[1];
      if (library !== undefined)
        return writeLibraryEntries(dist, library, { script: file.fileName, exports: file.exports });
      return file.name === 'main' ? [] : writeProgram(dist, file.name, KEEPING_CODE.has(file.name));
    });
    return [...written, ...output.map(({ fileName }) => fileName)];
  } finally {
    await bundled.close();
  }
}

/** Rewrites the addresses of worker files from sources to programs, which are all in one folder. */
function entryAddresses(root: string): Plugin {
  const bySource = new Map(Object.entries(entries).map(([name, source]) => [join(root, source), name]));
  const address = /new URL\(\s*(['"])(\.{1,2}\/[^'"]+\.ts)\1\s*,\s*import\.meta\.url\s*\)/g;
  return {
    name: 'entry-addresses',
    transform(code, id) {
      if (!id.startsWith(join(root, 'src')) || !code.includes('import.meta.url')) return null;
      return code.replace(address, (_match, _quote, path: string) => {
        const name = bySource.get(resolve(id, '..', path));
        if (name === undefined)
          throw new Error(`${relative(root, id)} starts ${path}, which is no entry in tools/build.ts`);
        return `new URL('./${name}.cjs', import.meta.url)`;
      });
    },
  };
}

/**
 * Turns chunks into scripts. This plugin is the last, because the bundler prints a chunk again after `renderChunk`. Characters
 * beyond ASCII are escaped: V8 keeps a script's text while it runs, and one character beyond Latin 1 (such as a typographic
 * apostrophe) makes it use two bytes for each character of a megabyte. Comments are removed before; the remaining characters are
 * in strings, templates and regular expressions, where an escape means the same.
 */
function scripts(): Plugin {
  return {
    name: 'scripts',
    generateBundle(_options, files) {
      const made = new Map<string, ChunkScript>();
      for (const [name, file] of Object.entries(files))
        if (file.type === 'chunk') made.set(name, chunkScript(name, escaped(file.code)));
      checkOrder(made);
      for (const [name, { code }] of made) (files[name] as { code: string }).code = code;
    },
  };
}

function escaped(code: string): string {
  return code.replaceAll(/[^\x00-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

if (isMain(import.meta.url)) {
  const startedMs = performance.now();
  try {
    const result = await build(repositoryRoot);
    buildTypes(repositoryRoot);
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
    console.log(result === '' ? 'dist/ is up to date' : `dist/: ${result} in ${seconds} s`);
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 1;
  }
}
