// Checks the documents against the tree: relative links and their anchors must resolve, npm scripts and source paths must exist,
// and in documents that explain the source every code name must occur in it. So a renamed identifier is also renamed in the
// documents. A name that stands beside a file must occur in that file.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

import { isMain, repositoryRoot } from './repository.ts';

/** Documents whose code names are checked; in the others only source paths are. */
const EXPLAINS_SOURCE = [
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'docs/tour.md',
  'docs/concepts.md',
  'docs/glossary.md',
  'docs/decisions/',
  'src/',
];
/** Names files that no longer exist. */
const HISTORY = 'CHANGELOG.md';

/** The tree that the documents are checked against. */
interface Tree {
  readonly root: string;
  readonly files: readonly string[];
  readonly scripts: ReadonlySet<string>;
  /** Names in `package.json` that are no files of the tree: packages, exports of this one, built files. */
  readonly packaged: ReadonlySet<string>;
  readonly words: ReadonlySet<string>;
}

interface PackageFile {
  readonly name: string;
  readonly files?: readonly string[];
  readonly scripts?: object;
  readonly exports?: object;
  readonly dependencies?: object;
  readonly devDependencies?: object;
}

/** A document with its fenced blocks blanked. */
function withoutFences(text: string): string {
  return text.replaceAll(/^( *)(`{3,}).*\n[^]*?^\1\2$/gm, blank);
}

/** The same number of characters and lines, so that positions stay the same. */
function blank(text: string): string {
  return text.replaceAll(/[^\n]/g, ' ');
}

/** GitHub's anchors of a document's headings. */
export function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of withoutFences(text).matchAll(/^#{1,6} +(.+?) *$/gm)) {
    const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const slug = plain.replaceAll(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-');
    let anchor = slug;
    for (let copy = 1; anchors.has(anchor); copy++) anchor = `${slug}-${copy}`;
    anchors.add(anchor);
  }
  return anchors;
}

function brokenLink(tree: Tree, document: string, target: string): string | undefined {
  if (/^[a-z]+:/i.test(target)) return undefined;
  const [path = '', anchor] = target.split('#');
  const file = path === '' ? join(tree.root, document) : resolve(tree.root, dirname(document), path);
  if (!existsSync(file)) return `link to ${target}: there is no such file`;
  if (anchor === undefined || !file.endsWith('.md')) return undefined;
  return anchorsOf(readFileSync(file, 'utf8')).has(anchor) ? undefined : `link to ${target}: there is no such heading`;
}

/** Whether a file or folder of the tree ends with this path, which may be a pattern. */
function existsPath(tree: Tree, path: string): boolean {
  const escaped = path.replace(/\/$/, '').replaceAll(/[.+]/g, '\\$&').replaceAll('*', '[^/]*');
  const pattern = new RegExp(`(?:^|/)${escaped}(?:/|$)`);
  return tree.files.some((file) => pattern.test(file));
}

/** The fault of an inline code span; undefined for a correct one. */
function brokenCode(tree: Tree, document: string, code: string): string | undefined {
  const script = /^npm run ([\w:-]+)/.exec(code)?.[1];
  if (script !== undefined) return tree.scripts.has(script) ? undefined : `npm run ${script}: there is no such script`;
  if (document === HISTORY) return undefined;
  const explains = explainsSource(document);
  if (tree.packaged.has(code.replace(/\/$/, ''))) return undefined;
  const isPath = /^[\w.@*-]+(?:\/[\w.@*-]+)*\/?$/.test(code) && (/\.(?:ts|mjs)$/.test(code) || code.includes('/'));
  if (isPath && (explains || /\.(?:ts|mjs)$/.test(code)))
    return existsPath(tree, code) ? undefined : `${code}: there is no such file or folder`;
  if (!explains || !/^[#\w$]+(?:\.[#\w$]+)*(?:\(\))?$/.test(code) || !/[a-z][A-Z]|[#.(]/.test(code)) return undefined;
  const missing = code
    .replace('()', '')
    .split(/[.#]+/)
    .find((word) => word !== '' && !tree.words.has(word));
  return missing === undefined ? undefined : `${code}: no source has the word ${missing}`;
}

/** Code names in the diagrams of a document, with their positions. */
function namesInDiagrams(text: string): { index: number; name: string }[] {
  return [...text.matchAll(/^```mermaid\n([^]*?)^```$/gm)].flatMap(({ index, 0: block }) =>
    [...block.replaceAll(/^ *(?:%%|sequenceDiagram).*$/gm, blank).matchAll(/\b[A-Za-z]*[a-z][A-Z][A-Za-z]*\b/g)].map(
      (match) => ({ index: index + match.index, name: match[0] }),
    ),
  );
}

/** The fault of a name in a diagram, where names of CRI calls begin with a capital. */
function brokenName({ words }: Tree, name: string): string | undefined {
  const known = words.has(name) || words.has(name.charAt(0).toLowerCase() + name.slice(1));
  return known ? undefined : `${name} in a diagram: no source has this word`;
}

/** `name` (`file.ts`...), `name` in `file.ts`, `file.ts` (`name`): pairs of a code name and the file that is said to have it. */
const NAME_WITH_FILE = /`([A-Za-z$]\w*)` (?:\(|in )`([\w./-]+\.ts)`|`([\w./-]+\.ts)` \(`([A-Za-z$]\w*)`/g;

/** The faults of names that stand beside a file which does not have them. */
function misplacedNames({ root, files }: Tree, text: string): { index: number; fault: string }[] {
  return [...text.matchAll(NAME_WITH_FILE)].flatMap(({ index, 1: first, 2: after, 3: before, 4: second }) => {
    const [name, path] = [(first ?? second)!, (after ?? before)!];
    const file = files.find((each) => `/${each}`.endsWith(`/${path}`));
    if (file === undefined) return [];
    const isThere = new RegExp(`(?<![\\w$])${name}(?![\\w$])`).test(readFileSync(join(root, file), 'utf8'));
    return isThere ? [] : [{ index, fault: `${name}: ${path} does not have this word` }];
  });
}

function lineOf(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}

function explainsSource(document: string): boolean {
  return EXPLAINS_SOURCE.some((prefix) => document.startsWith(prefix));
}

function checkDocument(tree: Tree, document: string): string[] {
  const whole = readFileSync(join(tree.root, document), 'utf8');
  const text = withoutFences(whole);
  const report = (index: number, fault: string | undefined): string[] =>
    fault === undefined ? [] : [`${document}:${lineOf(text, index)} ${fault}`];
  const withoutCode = text.replaceAll(/`[^`\n]*`/g, blank);
  return [
    ...[...withoutCode.matchAll(/\]\(([^()\s]+)\)/g)].flatMap(({ index, 1: target = '' }) =>
      report(index, brokenLink(tree, document, target)),
    ),
    ...[...text.matchAll(/`([^`\n]+)`/g)].flatMap(({ index, 1: code = '' }) =>
      report(index, brokenCode(tree, document, code)),
    ),
    ...(explainsSource(document) ? namesInDiagrams(whole) : []).flatMap(({ index, name }) =>
      report(index, brokenName(tree, name)),
    ),
    ...(explainsSource(document) ? misplacedNames(tree, text) : []).flatMap(({ index, fault }) => report(index, fault)),
  ];
}

function readTree(root: string): Tree {
  const exclude = (path: string): boolean => /(?:^|\/)(?:node_modules|dist|\.cache|\.git)(?:\/|$)/.test(path);
  const files = globSync('**/*.*', { cwd: root, exclude }).concat(
    globSync('{bin,.ci,src}/**/*', { cwd: root, exclude }),
  );
  const sources = files.filter((path) => /^(?:src|tools|test|bench|examples)\/.*\.(?:ts|mjs)$/.test(path));
  const words = new Set<string>();
  for (const path of sources)
    for (const word of readFileSync(join(root, path), 'utf8').match(/[\w$]+/g) ?? []) words.add(word);
  const pack = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as PackageFile;
  const exported = Object.keys(pack.exports ?? {}).map((path) => `${pack.name}${path.slice(1)}`);
  return {
    ...{ root, files, words },
    scripts: new Set(Object.keys(pack.scripts ?? {})),
    packaged: new Set([
      ...Object.keys({ ...pack.dependencies, ...pack.devDependencies }),
      ...exported,
      ...(pack.files ?? []),
    ]),
  };
}

/** The faults of the documents below a folder, as `path:line fault`. */
export function checkDocuments(root: string): { documents: number; faults: string[] } {
  const tree = readTree(root);
  const documents = [...new Set(tree.files.filter((path) => path.endsWith('.md')))].sort();
  return { documents: documents.length, faults: documents.flatMap((document) => checkDocument(tree, document)) };
}

if (isMain(import.meta.url)) {
  const { documents, faults } = checkDocuments(resolve(process.argv[2] ?? repositoryRoot));
  for (const fault of faults) console.error(fault);
  if (documents === 0) console.error('no documents to check');
  process.exitCode = faults.length > 0 || documents === 0 ? 1 : 0;
}
