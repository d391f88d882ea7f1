// The pages of the site in order: those that docs/README.md links to, by its sections, then every other document of docs/.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { repositoryRoot } from '../repository.ts';

/** A document that becomes a page. */
export interface Page {
  /** The path in the repository: `docs/backup.md`. */
  readonly source: string;
  /** The path in the site: `backup.html`. */
  readonly file: string;
  readonly title: string;
  readonly text: string;
}

/** A heading of the navigation, with its pages. */
export interface Section {
  readonly title: string;
  readonly pages: readonly Page[];
}

export interface Site {
  readonly pages: readonly Page[];
  readonly sections: readonly Section[];
}

const INDEX = 'docs/README.md';

/** Documents outside of docs/ that are pages too. */
const AT_THE_TOP = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
  'examples/README.md',
];

export function readSite(root = repositoryRoot): Site {
  const sources = [...globSync('docs/**/*.md', { cwd: root }).toSorted(), ...AT_THE_TOP];
  const pages = sources.filter((source) => existsSync(join(root, source))).map((source) => readPage(root, source));
  const bySource = new Map(pages.map((page) => [page.source, page]));
  const sections: { title: string; pages: Page[] }[] = [];
  const index = bySource.get(INDEX);
  if (index === undefined) throw new Error(`${INDEX} is not there`);
  for (const line of index.text.split('\n')) {
    const heading = /^## +(.+)$/.exec(line)?.[1];
    if (heading !== undefined) sections.push({ title: heading, pages: [] });
    for (const [, target = ''] of line.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)) {
      const page = bySource.get(relative(root, resolve(root, dirname(INDEX), target)));
      const section = sections.at(-1);
      const isListed = sections.some((each) => each.pages.some((known) => known === page));
      if (page !== undefined && section !== undefined && !isListed) section.pages.push(page);
    }
  }
  const taken = Map.groupBy(pages, ({ file }) => file);
  const twice = [...taken].find(([, sharing]) => sharing.length > 1);
  if (twice !== undefined)
    throw new Error(`${twice[1].map(({ source }) => source).join(' and ')} are both ${twice[0]}`);
  return { pages, sections };
}

function readPage(root: string, source: string): Page {
  const text = readFileSync(join(root, source), 'utf8');
  const title = /^# +(.+)$/m.exec(text)?.[1]?.replaceAll('`', '') ?? source;
  return { source, file: fileOf(source), title, text };
}

/**
 * `docs/README.md` is the first page. Documents at the top level have a folder of their own, because docs/ has the same names.
 */
function fileOf(source: string): string {
  if (source === INDEX) return 'index.html';
  if (!source.includes('/')) return `top/${source.toLowerCase().replace(/\.md$/, '.html')}`;
  const path = source.startsWith('docs/') ? source.slice('docs/'.length) : source;
  return path.replace(/README\.md$/i, 'index.html').replace(/\.md$/, '.html');
}
