// `npm run docs:site [FOLDER]`: builds the documents as a static site, in .cache/docs-site/ unless a folder is named. Its pages
// load nothing from other sites, and search works without a server, also in pages opened as files. A link that does not resolve
// is an error.
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize, resolve } from 'node:path';
import { readSite } from './docs-site/pages.ts';
import { imageFile, renderPage, type Rendered } from './docs-site/render.ts';
import { pageHtml } from './docs-site/template.ts';
import { isMain, repositoryRoot } from './repository.ts';

export interface BuiltSite {
  readonly pages: number;
  readonly searchEntries: number;
}

const INDEX = 'search-index.js';

/**
 * Writes the site into an empty folder, or replaces a former site. Throws for other folders, and for links and pictures that do
 * not resolve.
 */
export function buildSite(folder: string): BuiltSite {
  if (existsSync(folder) && readdirSync(folder).length > 0 && !existsSync(join(folder, INDEX)))
    throw new Error(`${folder} holds something else: the site takes an empty folder`);
  const { version } = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8')) as { version: string };
  const { pages, sections } = readSite();
  const bySource = new Map(pages.map((page) => [page.source, page]));
  const rendered = new Map<string, Rendered>(pages.map((page) => [page.file, renderPage(page, bySource)]));
  const problems = brokenLinks(rendered);
  if (problems.length > 0) throw new Error(problems.join('\n'));
  rmSync(folder, { recursive: true, force: true });
  for (const page of pages)
    write(folder, page.file, pageHtml({ page, rendered: rendered.get(page.file)!, sections, version }));
  for (const image of new Set([...rendered.values()].flatMap(({ images }) => images))) {
    const target = join(folder, imageFile(image));
    mkdirSync(dirname(target), { recursive: true });
    copyFileSync(join(repositoryRoot, image), target);
  }
  const entries = pages.flatMap(({ file, title }) =>
    rendered.get(file)!.entries.map((entry) => ({ file, page: title, ...entry })),
  );
  write(folder, INDEX, `globalThis.keelsonSearchIndex = ${JSON.stringify(entries)};\n`);
  for (const name of ['site.css', 'site.js'])
    copyFileSync(join(repositoryRoot, 'tools/docs-site', name), join(folder, name));
  return { pages: pages.length, searchEntries: entries.length };
}

/** Links between pages whose page or heading does not exist. */
function brokenLinks(rendered: ReadonlyMap<string, Rendered>): string[] {
  const anchors = new Map(
    [...rendered].map(([file, { headings }]) => [file, new Set(headings.map(({ anchor }) => anchor))]),
  );
  return [...rendered].flatMap(([file, { html }]) =>
    [...html.matchAll(/<a (?:class="anchor" )?href="([^"]+)"/g)].flatMap(([, href = '']) => {
      if (/^[a-z]+:/i.test(href)) return [];
      const [path = '', anchor] = href.split('#');
      const known = anchors.get(path === '' ? file : normalize(join(dirname(file), path)));
      const isThere = known !== undefined && (anchor === undefined || known.has(anchor));
      return isThere ? [] : [`${file}: the link to ${href} leads nowhere`];
    }),
  );
}

function write(folder: string, file: string, text: string): void {
  const path = join(folder, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

if (isMain(import.meta.url)) {
  const folder = resolve(process.argv[2] ?? join(repositoryRoot, '.cache/docs-site'));
  const { pages, searchEntries } = buildSite(folder);
  process.stdout.write(
    `${pages} pages, ${searchEntries} headings that can be searched: ${join(folder, 'index.html')}\n`,
  );
}
