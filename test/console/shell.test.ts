import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { build } from '../../tools/build.ts';
import { repositoryRoot } from '../../tools/repository.ts';
import { images, keelson, startCluster } from '../integration/cluster-fixture.ts';
import { accessibilityProblems } from './axe.ts';
import { openBrowser, skipBrowser } from './browser.ts';
import { linksAtRest } from './links-at-rest.ts';
import { accountWith, goTo, startPodWorld } from './pod-world.ts';

const skipReal = skipBrowser || (process.getuid?.() === 0 ? false : 'needs root');

/** Waits until the terminal shows a text. */
async function shows(page: Page, text: string): Promise<void> {
  await page.waitForFunction(
    (wanted) =>
      [...document.querySelectorAll('.xterm-rows > div')]
        .map(({ textContent }) => textContent)
        .join('\n')
        .includes(wanted),
    text,
  );
}

/** Waits for an open session. The browser drops connections while links of the machine change, as they do when pods start. */
async function isOpen(page: Page): Promise<void> {
  const open = page.getByRole('status').getByText('open', { exact: true });
  const again = page.getByRole('button', { name: 'Open again' });
  await open.or(again).first().waitFor();
  if (await again.isVisible()) await again.click();
  await open.waitFor();
}

test('a shell in a real container: typing, colours, size, exit', { skip: skipReal }, async () => {
  await build(repositoryRoot);
  const cluster = await startCluster();
  try {
    const space = await cluster.space('terminals');
    await space.kubectl(['run', 'web', `--image=${images.test}`]);
    await space.kubectl(['run', 'bare', `--image=${images.demo}`]);
    await space.kubectl('wait --for=condition=Ready pod --all --timeout=120s');
    await linksAtRest();
    const link = await keelson(['console', '--print', '--data-dir', cluster.dataDir]);
    await using browser = await openBrowser();
    const { page, problems } = browser;
    await goTo(page, link.stdout.trim(), '#/list/pods?ns=terminals&q=web');
    await page.locator('.grid .row').getByText('web').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('s');
    await isOpen(page);
    await page.keyboard.type('echo $((6 * 7)) $TERM\n');
    await shows(page, '42 xterm-256color');
    await page.keyboard.type(String.raw`printf '\033[38;2;255;100;0mtrue\033[0m \033[4:3;31mcurly\033[0m\n'` + '\n');
    const coloured = page.locator('.xterm-rows span', { hasText: /^true$/ });
    await coloured.last().waitFor();
    assert.notEqual(await coloured.last().evaluate((element) => getComputedStyle(element).color), 'rgb(27, 36, 48)');
    await page.keyboard.type('stty size\n');
    const rows = await page.locator('.xterm-rows > div').count();
    await shows(page, `\n${rows} `);
    await page.setViewportSize({ width: 700, height: 500 });
    await page.waitForFunction((before) => document.querySelectorAll('.xterm-rows > div').length < before, rows);
    await page.keyboard.type('clear; stty size\n');
    await shows(page, `${await page.locator('.xterm-rows > div').count()} `);
    assert.deepEqual(await accessibilityProblems(page), []);
    await page.keyboard.press('Control+Shift+Space');
    assert.equal(await page.evaluate(() => document.activeElement?.tagName), 'SELECT');
    await page.locator('.shell-terminal textarea').focus();
    await page.keyboard.type('exit 7\n');
    await page.getByText('The session has ended with exit code 7.').waitFor();
    await page.getByRole('button', { name: 'Open again' }).click();
    await page.getByRole('status').getByText('open', { exact: true }).waitFor();

    await page.getByLabel('Command').fill('no-such-program');
    await page.keyboard.press('Tab');
    await page
      .getByRole('status')
      .getByText(/no-such-program/)
      .waitFor();
    // Folders are listed, and files and folders saved, by programs of the image.
    await space.kubectl([
      'exec',
      'web',
      '--',
      'sh',
      '-c',
      'mkdir -p "/tmp/a b/-x" && printf "\\001\\377bytes" > "/tmp/a b/<i>.bin"',
    ]);
    await page.evaluate(() => (location.hash = '#/files/pods/terminals/web?path=/tmp'));
    await page.getByRole('link', { name: 'a b/' }).click();
    await page.getByText('<i>.bin').waitFor();
    const alignment = (cell: Element): string => getComputedStyle(cell).textAlign;
    assert.equal(await page.locator('td.files-size').first().evaluate(alignment), 'right');
    assert.deepEqual(await accessibilityProblems(page), []);
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save <i>.bin' }).click(),
    ]);
    assert.deepEqual(readFileSync(await file.path()), Buffer.from('\u0001\u00ffbytes', 'latin1'));
    const [folder] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save as tar -x' }).click(),
    ]);
    assert.equal(folder.suggestedFilename(), '-x.tar');
    assert.match(readFileSync(await folder.path(), 'latin1'), /-x\/.*ustar/s);
    await page.evaluate(() => (location.hash = '#/files/pods/terminals/web?path=/no/such'));
    await page
      .getByRole('alert')
      .getByText(/No such file or directory/)
      .waitFor();
    await page.evaluate(() => (location.hash = '#/shell/pods/terminals/gone'));
    await page.getByText('This object does not exist, or was deleted.').waitFor();
    // Chromium drops requests when a link of the machine is added or removed, such as a pod's.
    assert.deepEqual(
      problems.filter((text) => !/404 .*\/pods\/gone(\?|$)|ERR_NETWORK_CHANGED/.test(text)),
      [],
    );
  } finally {
    await cluster.stop();
  }
});

test(
  'attach shows the output of a container; users without the right to exec are offered no shell',
  { skip: skipBrowser },
  async () => {
    await build(repositoryRoot);
    await using cluster = await startPodWorld();
    await using browser = await openBrowser({ width: 320, height: 640 });
    const { page, problems } = browser;
    await goTo(page, await cluster.console(), '#/shell/pods/default/talk?container=main');
    await page.getByText('The session has ended with exit code 3.').waitFor();
    await page.getByLabel('Shell', { exact: true }).selectOption('attach');
    await page
      .locator('.xterm-rows')
      .getByText(/^tick \d+/)
      .first()
      .waitFor();
    assert.deepEqual(await accessibilityProblems(page), []);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 320, `${width} pixels`);
    assert.deepEqual(problems, []);

    const viewer = await accountWith(cluster, 'view');
    await using other = await openBrowser();
    await other.page.goto(viewer.url);
    await other.page.getByLabel('Bearer token').fill(viewer.token);
    await other.page.getByRole('button', { name: 'Sign in' }).click();
    await other.page.locator('nav.menu a').first().waitFor();
    await other.page.evaluate(() => (location.hash = '#/object/pods/default/talk'));
    await other.page.getByRole('link', { name: /^Logs/ }).waitFor();
    assert.equal(await other.page.getByRole('link', { name: /^Shell/ }).count(), 0);
    await other.page.evaluate(() => (location.hash = '#/shell/pods/default/talk'));
    await other.page.getByText('You may not run commands in this pod.').waitFor();
  },
);
