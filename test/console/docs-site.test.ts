/**
 * The site of the documents, opened as files in a real browser: search by keyboard from any page, light and dark, narrow windows.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { buildSite } from '../../tools/docs-site.ts';
import { accessibilityProblems } from './axe.ts';
import { openBrowser, skipBrowser } from './browser.ts';

describe('the site of the documents', { skip: skipBrowser }, () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'keelson-docs-site-'));
    buildSite(folder);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const urlOf = (file: string): string => String(pathToFileURL(join(folder, file)));
  const results = (page: Page) => page.locator('#results a');
  const isAt = (page: Page, file: string) => page.waitForURL((url) => url.href === urlOf(file).replaceAll('%23', '#'));
  const searchFor = async (page: Page, words: string): Promise<void> => {
    await page.keyboard.press('/');
    await page.locator('#search').fill(words);
  };

  it('finds an event reason in a long table, and Enter opens it', async () => {
    await using browser = await openBrowser();
    const { page } = browser;
    await page.goto(urlOf('index.html'));
    await searchFor(page, 'SystemOOM');
    await results(page).first().locator('mark').first().waitFor();
    assert.match((await results(page).first().textContent()) ?? '', /kubelet/);
    await page.keyboard.press('Enter');
    await isAt(page, 'events.html#kubelet');
    assert.equal(await page.locator('#results').isHidden(), true);
    assert.deepEqual(browser.problems, []);
  });

  it('opens a page of the parent folder by arrow keys; all words must occur', async () => {
    await using browser = await openBrowser();
    const { page } = browser;
    await page.goto(urlOf('how-to/run-my-image.html'));
    await searchFor(page, 'any moment snapshot log');
    const found = results(page).filter({ hasText: 'Any moment' }).first();
    await found.waitFor();
    await page.keyboard.press('ArrowDown');
    assert.equal(await page.evaluate(() => document.activeElement?.closest('#results') !== null), true);
    await page.keyboard.press('Escape');
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'search');
    await found.click();
    await isAt(page, 'backup.html#any-moment');
    await searchFor(page, 'snapshot nosuchword');
    await page.getByText('Nothing has all of these words.').waitFor();
    assert.deepEqual(browser.problems, []);
  });

  for (const dark of [false, true])
    it(`is accessible, ${dark ? 'dark' : 'light'}, and keeps the chosen colours`, async () => {
      await using browser = await openBrowser({ dark });
      const { page } = browser;
      await page.goto(urlOf('events.html'));
      await searchFor(page, 'restore');
      await results(page).first().waitFor();
      assert.deepEqual(await accessibilityProblems(page), []);
      await page.keyboard.press('Escape');
      await page.getByLabel('Light or dark').click();
      await page.goto(urlOf('how-to/index.html'));
      assert.equal(await page.evaluate(() => document.documentElement.dataset['theme']), dark ? 'light' : 'dark');
      assert.deepEqual(await accessibilityProblems(page), []);
    });

  it('has its pages behind a button in a narrow window', async () => {
    await using browser = await openBrowser({ width: 390, height: 800 });
    const { page } = browser;
    await page.goto(urlOf('index.html'));
    const link = page.locator('#nav').getByRole('link', { name: 'By task', exact: true });
    assert.equal(await link.isVisible(), false);
    await page.getByRole('button', { name: 'Pages' }).click();
    await link.click();
    await isAt(page, 'how-to/index.html');
  });
});
