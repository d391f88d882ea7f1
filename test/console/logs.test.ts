import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { build } from '../../tools/build.ts';
import { repositoryRoot } from '../../tools/repository.ts';
import { accessibilityProblems } from './axe.ts';
import { openBrowser, skipBrowser } from './browser.ts';
import { goTo, startPodWorld } from './pod-world.ts';

/** The last number after a word on the screen. */
async function newest(page: Page, word: string): Promise<number> {
  const text = await page.locator('.logs-pane').innerText();
  return Number([...text.matchAll(new RegExp(`${word} (\\d+)`, 'g'))].at(-1)?.[1] ?? -1);
}

test('logs are followed and searched, and hostile lines are text', { skip: skipBrowser }, async () => {
  await build(repositoryRoot);
  await using cluster = await startPodWorld();
  await using browser = await openBrowser();
  const { page, problems } = browser;
  await goTo(page, await cluster.console(), '#/list/pods?ns=default&q=talk');
  await page.locator('.grid .row').getByText('talk').waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('l');
  const pane = page.locator('.logs-pane');
  await pane
    .getByText(/^tick \d+$/)
    .first()
    .waitFor();

  // The log is followed until the user scrolls up; the key for the newest line resumes it.
  const first = await newest(page, 'tick');
  await page.waitForFunction(
    (before) => [...document.querySelectorAll('.logs-row')].some((row) => row.textContent?.endsWith(`tick ${before}`)),
    first + 3,
  );
  await page.keyboard.press('g');
  await page.getByRole('button', { name: 'Follow', exact: true }).waitFor();
  await pane.getByText('prepared').waitFor();
  const script = pane.getByText('<script>alert(2)</script>');
  await script.waitFor();
  assert.equal(await pane.locator('img, script, a').count(), 0);
  assert.equal(await pane.locator('.logs-ink-1').innerText(), 'red');
  assert.equal(await pane.locator('.logs-on-2').innerText(), 'on green');
  await pane.getByText('<U+202E>gnp.exe').waitFor();
  await pane.getByText('click', { exact: true }).waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
  const top = await pane.evaluate((element) => element.scrollTop);
  await page.waitForTimeout(500);
  assert.equal(await pane.evaluate((element) => element.scrollTop), top, 'new lines do not move the reader');

  // The long line is truncated with a note; without wrapping it is one row.
  await page.keyboard.press('w');
  await pane.getByText('more characters, which the download has').waitFor({ state: 'attached' });
  await page.keyboard.press('w');

  await page.keyboard.press('/');
  await page.keyboard.type('TICK 1');
  await page.keyboard.press('Enter');
  await pane.locator('mark', { hasText: 'tick 1' }).first().waitFor();
  await pane.locator('.logs-current').waitFor();
  await page.getByLabel('only these').check();
  await page.waitForFunction(() =>
    [...document.querySelectorAll('.logs-row')].every((row) => row.textContent?.includes('tick 1')),
  );
  assert.match(page.url(), /only=1/);
  await page.keyboard.press('Escape');
  await pane.focus();
  await page.keyboard.press('Escape');
  await page.keyboard.press('G');

  await page.keyboard.press('t');
  await pane
    .getByText(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/)
    .first()
    .waitFor();
  await page.getByLabel('Container', { exact: true }).selectOption('side');
  await page.waitForFunction(() => !document.querySelector('.logs-pane')?.textContent?.includes('tick'));
  await pane.getByText('about to fail').first().waitFor();
  await page.getByLabel('Before the last restart').check();
  await pane.getByText('about to fail').first().waitFor();
  await page.getByText('The container has ended.').waitFor();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download' }).click(),
  ]);
  assert.equal(download.suggestedFilename(), 'talk_side.log');
  assert.match(readFileSync(await download.path(), 'utf8'), /^about to fail\n/);
  assert.deepEqual(problems, []);
});

test('a hundred thousand lines stay usable, and all pods of a workload are shown', { skip: skipBrowser }, async () => {
  await build(repositoryRoot);
  await using cluster = await startPodWorld();
  await using browser = await openBrowser();
  const { page, problems } = browser;
  await goTo(page, await cluster.console(), '#/logs/pods/default/flood');
  const pane = page.locator('.logs-pane');
  await pane.getByText('flood 120000').waitFor({ timeout: 60_000 });
  await page.getByText('100,000 lines').waitFor();
  assert.ok((await pane.locator('.logs-row').count()) < 200);
  await page.keyboard.press('g');
  await pane.getByText(/^flood 20001$/).waitFor();
  await page.keyboard.press('/');
  // Enter does not wait for the end of the search, which takes several frames.
  await page.keyboard.type('flood 77777');
  await page.keyboard.press('Enter');
  await pane.locator('.logs-current mark').waitFor();

  await page.evaluate(() => (location.hash = '#/list/deployments.apps?ns=default'));
  await page.locator('.grid .row').first().waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('l');
  await pane
    .getByText(/^tick \d+$/)
    .first()
    .waitFor();
  const names = async (): Promise<number> => new Set(await page.locator('.logs-row .logs-prefix').allInnerTexts()).size;
  await page.waitForFunction(
    () => new Set([...document.querySelectorAll('.logs-prefix')].map(({ textContent }) => textContent)).size === 3,
  );
  assert.equal(await names(), 3);
  assert.deepEqual(await accessibilityProblems(page), []);
  assert.deepEqual(problems, []);
});
