/** The site contains every document, its links resolve, and its pages load nothing from other sites. */
import assert from 'node:assert/strict';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { buildSite, type BuiltSite } from './docs-site.ts';
import { readSite } from './docs-site/pages.ts';
import { renderPage } from './docs-site/render.ts';

describe('the site', () => {
  let folder: string;
  let built: BuiltSite;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'keelson-docs-site-'));
    built = buildSite(folder);
  });
  after(() => rmSync(folder, { recursive: true }));

  it('has a page for every document, and the navigation links to those that docs/README.md names', () => {
    const pages = globSync('**/*.html', { cwd: folder });
    assert.equal(pages.length, built.pages);
    assert.ok(pages.length > 40);
    const { sections } = readSite();
    assert.ok(sections.every(({ pages: own }) => own.length > 0));
    for (const page of sections.flatMap((section) => section.pages)) assert.ok(pages.includes(page.file), page.file);
  });

  it('loads nothing from other sites, and every file that it loads exists', () => {
    for (const file of globSync('**/*.html', { cwd: folder })) {
      const html = readFileSync(join(folder, file), 'utf8');
      for (const [, asked = ''] of html.matchAll(/<(?:img|script|link)\b[^>]*?(?:src|href)="([^"]+)"/g)) {
        if (asked.startsWith('data:')) continue;
        assert.doesNotMatch(asked, /^[a-z]+:|^\/\//, file);
        assert.ok(existsSync(join(folder, file, '..', asked)), `${file}: ${asked}`);
      }
    }
    assert.doesNotMatch(readFileSync(join(folder, 'site.css'), 'utf8'), /url\(|@import/);
  });

  it('replaces a former site and nothing else', () => {
    assert.deepEqual(buildSite(folder), built);
    const other = mkdtempSync(join(tmpdir(), 'keelson-docs-site-'));
    try {
      writeFileSync(join(other, 'mine'), '');
      assert.throws(() => buildSite(other), /holds something else/);
      assert.ok(existsSync(join(other, 'mine')));
    } finally {
      rmSync(other, { recursive: true });
    }
  });

  it('finds headings by their words', () => {
    const index = readFileSync(join(folder, 'search-index.js'), 'utf8');
    const entries = JSON.parse(index.replace('globalThis.keelsonSearchIndex = ', '').replace(/;\n$/, '')) as {
      file: string;
      anchor: string;
    }[];
    assert.equal(entries.length, built.searchEntries);
    assert.ok(entries.some(({ file, anchor }) => file === 'backup.html' && anchor === 'any-moment'));
  });
});

describe('a page', () => {
  const page = (text: string) => ({ source: 'docs/a.md', file: 'a.html', title: 'A', text });
  const render = (text: string) =>
    renderPage(page(text), new Map([['docs/b.md', { ...page('# B'), source: 'docs/b.md', file: 'b.html' }]]));

  it('has links between pages, and shows files that are no page without a link', () => {
    assert.match(render('[b](b.md#x)').html, /<a href="b\.html#x">b<\/a>/);
    assert.match(render('[tests](../test/sim)').html, /<span class="source" title="\.\.\/test\/sim">tests<\/span>/);
    assert.throws(() => render('[gone](gone.md)'), /docs\/a\.md: the link to gone\.md leads nowhere/);
  });

  it("has GitHub's anchors, each once, and escapes code", () => {
    const { html, headings } = render('# One `x`\n\n## Two\n\n## Two\n\n```\n<script>\n```\n');
    assert.deepEqual(
      headings.map(({ anchor }) => anchor),
      ['one-x', 'two', 'two-1'],
    );
    assert.match(html, /&lt;script&gt;/);
  });
});
