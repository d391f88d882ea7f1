// The frame of every page: navigation, search, the page's headings, the previous and the next page.
import { dirname, relative } from 'node:path';
import type { Page, Section } from './pages.ts';
import { escapeHtml, type Rendered } from './render.ts';

interface Frame {
  readonly page: Page;
  readonly rendered: Rendered;
  readonly sections: readonly Section[];
  readonly version: string;
}

/** The levels of headings that are listed beside the page. */
const SHOWN_LEVELS = [2, 3];

export function pageHtml({ page, rendered, sections, version }: Frame): string {
  const to = (file: string): string => relative(dirname(page.file), file);
  const order = sections.flatMap(({ pages }) => pages);
  const at = order.indexOf(page);
  const nav = sections
    .map(({ title, pages }) => {
      const items = pages.map((each) => {
        const current = each === page ? ' aria-current="page"' : '';
        return `<li><a href="${to(each.file)}"${current}>${escapeHtml(shortTitle(each))}</a></li>`;
      });
      return `<h2>${escapeHtml(title)}</h2><ul>${items.join('')}</ul>`;
    })
    .join('\n');
  const shown = rendered.headings.filter(({ level }) => SHOWN_LEVELS.includes(level));
  const toc = shown.map(
    ({ level, anchor, title }) => `<li class="level${level}"><a href="#${anchor}">${title}</a></li>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(page.title)} · Keelson</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${to('site.css')}">
<script src="${to('site.js')}" data-root="${to('.') || '.'}" defer></script>
</head>
<body>
<a class="skip" href="#content">To the content</a>
<header>
<button id="menu" aria-expanded="false" aria-controls="nav" aria-label="Pages">☰</button>
<a class="name" href="${to('index.html')}">Keelson</a><span class="version">${escapeHtml(version)}</span>
<div class="search" role="search"><input id="search" type="search" placeholder="Search ( / )" aria-label="Search" autocomplete="off" aria-controls="results"><ol id="results" hidden></ol></div>
<button id="theme" aria-label="Light or dark">◐</button>
</header>
<div class="columns">
<nav id="nav" aria-label="Pages">${nav}</nav>
<main id="content">
${rendered.html}
<footer>${neighbour(order[at - 1], to, 'Before')}${at < 0 ? '' : neighbour(order[at + 1], to, 'Next')}</footer>
</main>
<aside aria-label="On this page">${toc.length < 2 ? '' : `<h2>On this page</h2><ul>${toc.join('')}</ul>`}</aside>
</div>
</body>
</html>
`;
}

function neighbour(page: Page | undefined, to: (file: string) => string, word: string): string {
  return page === undefined
    ? '<span></span>'
    : `<a href="${to(page.file)}">${word}: ${escapeHtml(shortTitle(page))}</a>`;
}

/** The title without the part after a colon. */
function shortTitle({ title }: Page): string {
  return title.split(/[:,]/)[0] ?? title;
}
