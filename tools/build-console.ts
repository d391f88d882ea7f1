// Bundles src/console/ for browsers into dist/console/: scripts and one style sheet with hashed names, the page that loads them,
// each precompressed, and files.json, the index from which the server responds.
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

import { type OutputChunk, rolldown } from 'rolldown';

const pack = { gzip: promisify(gzip), brotli: promisify(brotliCompress) };

/** The entry module of the browser code. */
const ENTRY = 'src/console/main.tsx';

/** Style sheets in the order of the cascade; those of folders by name. Views load the style sheets of packages on demand. */
export const styleSheets: readonly string[] = [
  'src/console/styles/*.css',
  'src/console/app/*.css',
  'src/console/parts/*.css',
  'src/console/views/*/*.css',
];

/** A file of the console before it is written. */
interface BuiltFile {
  readonly name: string;
  readonly content: Uint8Array;
  readonly hashed: boolean;
}

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  svg: 'image/svg+xml',
};

/** Builds the console of the checkout at `root`, if it has one. */
export async function buildConsole(root: string, dist: string): Promise<void> {
  if (!existsSync(join(root, ENTRY))) return;
  const folder = join(dist, 'console');
  mkdirSync(folder, { recursive: true });
  const chunks = await bundle(root);
  const scripts = chunks.map(({ fileName, code }) => fileOf(fileName, Buffer.from(code), true));
  const styles = styleSheet(root);
  const icon = fileOf('keelson.svg', readFileSync(join(root, 'src/console/keelson.svg')), false);
  const page = fileOf('index.html', Buffer.from(pageOf(chunks, styles.name)), false);
  const files = [...scripts, styles, icon, page];
  const index = Object.fromEntries(await Promise.all(files.map((file) => write(folder, file))));
  writeFileSync(join(folder, 'files.json'), `${JSON.stringify(index)}\n`);
  removeOldFiles(folder, files);
}

function fileOf(name: string, content: Uint8Array, hashed: boolean): BuiltFile {
  return { name, content, hashed };
}

async function bundle(root: string): Promise<readonly OutputChunk[]> {
  const bundled = await rolldown({
    cwd: root,
    input: { main: join(root, ENTRY) },
    platform: 'browser',
    tsconfig: false,
    // Views adopt the style sheets of the packages that they use.
    moduleTypes: { '.css': 'text' },
    transform: { jsx: { runtime: 'automatic', importSource: 'preact' }, target: 'es2023' },
    onLog(level, log, handle) {
      if (log.code === 'UNRESOLVED_IMPORT') throw new Error(log.message);
      handle(level, log);
    },
  });
  try {
    const { output } = await bundled.generate({
      format: 'esm',
      entryFileNames: '[name]-[hash].js',
      chunkFileNames: '[name]-[hash].js',
      minify: true,
      comments: false,
    });
    return output.filter((file) => file.type === 'chunk');
  } finally {
    await bundled.close();
  }
}

function styleSheet(root: string): BuiltFile {
  const paths = styleSheets.flatMap((pattern) => globSync(pattern, { cwd: root }).sort());
  const text = paths.map((path) => minified(readFileSync(join(root, path), 'utf8'))).join('');
  return fileOf(`style-${hashOf(text)}.css`, Buffer.from(text), true);
}

/** Removes comments, line breaks and indentation; compression does the rest. */
function minified(css: string): string {
  return css.replaceAll(/\/\*[^]*?\*\//g, '').replaceAll(/\s*\n\s*/g, '');
}

function pageOf(chunks: readonly OutputChunk[], styles: string): string {
  const main = chunks.find(({ isEntry }) => isEntry)!;
  const preloads = main.imports.map((name) => `<link rel="modulepreload" href="/console/${name}">`);
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    '<title>Keelson</title>',
    '<link rel="icon" href="/console/keelson.svg" type="image/svg+xml">',
    `<link rel="stylesheet" href="/console/${styles}">`,
    ...preloads,
    `<script type="module" src="/console/${main.fileName}"></script>`,
    '</head>',
    '<body><div id="app"></div><noscript>The console needs JavaScript.</noscript></body>',
    '</html>',
    '',
  ].join('\n');
}

async function write(folder: string, { name, content, hashed }: BuiltFile): Promise<[string, object]> {
  const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };
  const [zipped, packed] = await Promise.all([pack.gzip(content, { level: 9 }), pack.brotli(content, brotli)]);
  writeFileSync(join(folder, name), content);
  writeFileSync(join(folder, `${name}.gz`), zipped);
  writeFileSync(join(folder, `${name}.br`), packed);
  const type = TYPES[name.slice(name.lastIndexOf('.') + 1)];
  if (type === undefined) throw new Error(`no content type is known for ${name}`);
  return [name, { type, etag: `"${hashOf(content)}"`, hashed, encodings: ['br', 'gzip'] }];
}

function hashOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 12);
}

// Files of an earlier build are removed only after a day, because a page of that build may still load one of its views.
function removeOldFiles(folder: string, files: readonly BuiltFile[]): void {
  const keptMs = 24 * 3600 * 1000;
  const current = new Set(['files.json', ...files.flatMap(({ name }) => [name, `${name}.gz`, `${name}.br`])]);
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (!current.has(name) && Date.now() - statSync(path).mtimeMs > keptMs) rmSync(path);
  }
}
