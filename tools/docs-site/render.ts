// Renders a document as HTML: headings with GitHub's anchors, links between documents as links between pages, and the search
// index.
import { existsSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { Marked, type Tokens } from 'marked';
import { anchorsOf } from '../documents.ts';
import { repositoryRoot } from '../repository.ts';
import type { Page } from './pages.ts';

export interface Heading {
  readonly level: number;
  readonly anchor: string;
  /** The title as HTML. */
  readonly title: string;
}

/** A part of a page under one heading. */
export interface SearchEntry {
  readonly anchor: string;
  readonly title: string;
  readonly text: string;
}

export interface Rendered {
  readonly html: string;
  readonly headings: readonly Heading[];
  readonly entries: readonly SearchEntry[];
  /** Paths of images in the repository that the page shows. */
  readonly images: readonly string[];
}

/** The limit for the text below each heading, enough for the longest table of a reference. */
const SEARCHED_CHARACTERS = 16_000;

export function renderPage(page: Page, bySource: ReadonlyMap<string, Page>): Rendered {
  const taken = new Set<string>();
  const headings: Heading[] = [];
  const images: string[] = [];
  const marked = new Marked({ gfm: true });
  marked.use({
    renderer: {
      heading({ tokens, depth, raw }: Tokens.Heading) {
        const title = this.parser.parseInline(tokens);
        const anchor = unusedAnchor(raw, taken);
        headings.push({ level: depth, anchor, title: title.replaceAll(/<\/?a\b[^>]*>/g, '') });
        return `<h${depth} id="${anchor}">${title} <a class="anchor" href="#${anchor}" aria-label="link to this heading">#</a></h${depth}>\n`;
      },
      link({ href, tokens }: Tokens.Link) {
        const text = this.parser.parseInline(tokens);
        const target = linkTarget(page, href, bySource);
        return target === undefined
          ? `<span class="source" title="${escapeHtml(href)}">${text}</span>`
          : `<a href="${target}">${text}</a>`;
      },
      image({ href, text }: Tokens.Image) {
        const file = normalize(join(dirname(page.source), href));
        images.push(file);
        return `<img src="${relative(dirname(page.file), imageFile(file))}" alt="${escapeHtml(text)}" loading="lazy">`;
      },
      code({ text, lang }: Tokens.Code) {
        const caption = lang === 'mermaid' ? '<p class="caption">A diagram, as its text:</p>' : '';
        return `${caption}<pre tabindex="0"><code>${escapeHtml(text)}</code></pre>\n`;
      },
      table(token: Tokens.Table) {
        const row = (cells: readonly Tokens.TableCell[], tag: 'td' | 'th'): string =>
          `<tr>${cells.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('')}</tr>`;
        const body = token.rows.map((cells) => row(cells, 'td')).join('\n');
        return `<div class="table" tabindex="0"><table><thead>${row(token.header, 'th')}</thead><tbody>${body}</tbody></table></div>\n`;
      },
    },
  });
  const html = marked.parse(page.text, { async: false });
  return { html, headings, entries: searchEntries(page, html), images };
}

function unusedAnchor(heading: string, taken: Set<string>): string {
  const [slug = ''] = anchorsOf(heading.trim());
  let anchor = slug;
  for (let copy = 1; taken.has(anchor); copy++) anchor = `${slug}-${copy}`;
  taken.add(anchor);
  return anchor;
}

/** The path of an image in the site. */
export function imageFile(source: string): string {
  return source.startsWith('docs/') ? source.slice('docs/'.length) : source;
}

export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** Undefined for a file or folder of the repository that is no page. Throws when the target does not exist. */
function linkTarget(page: Page, href: string, bySource: ReadonlyMap<string, Page>): string | undefined {
  if (/^[a-z]+:/i.test(href)) return escapeHtml(href);
  const [path = '', anchor] = href.split('#');
  if (path === '') return `#${anchor}`;
  const source = normalize(join(dirname(page.source), path)).replace(/\/$/, '');
  const target = bySource.get(source) ?? bySource.get(`${source}/README.md`);
  if (target !== undefined)
    return relative(dirname(page.file), target.file) + (anchor === undefined ? '' : `#${anchor}`);
  if (!existsSync(join(repositoryRoot, source))) throw new Error(`${page.source}: the link to ${href} leads nowhere`);
  return undefined;
}

function searchEntries(page: Page, html: string): SearchEntry[] {
  return html.split(/(?=<h[1-6] id=")/).flatMap((part) => {
    const [, anchor = '', heading = ''] = /^<h[1-6] id="([^"]*)">([^]*?) <a class="anchor"/.exec(part) ?? [];
    const text = textOf(part.replace(/^<h[1-6][^]*?<\/h[1-6]>/, ''));
    const title = heading === '' ? page.title : textOf(heading);
    return text === '' && heading === '' ? [] : [{ anchor, title, text: text.slice(0, SEARCHED_CHARACTERS) }];
  });
}

function textOf(html: string): string {
  return html
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
    .replaceAll(/\s+/g, ' ')
    .trim();
}
