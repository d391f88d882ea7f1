import assert from 'node:assert/strict';
import { test } from 'node:test';
import { build } from '../../tools/build.ts';
import { repositoryRoot } from '../../tools/repository.ts';
import { accessibilityProblems } from './axe.ts';
import { openBrowser, skipBrowser } from './browser.ts';
import { startDemoCluster } from './demo-cluster.ts';
import { goTo, openPage } from './pod-world.ts';

test('axe finds nothing in any view, light or dark, wide or narrow', { skip: skipBrowser }, async (t) => {
  await build(repositoryRoot);
  await using cluster = await startDemoCluster();
  for (const look of [{ dark: false }, { dark: true }, { dark: false, width: 320, height: 640 }]) {
    await using browser = await openBrowser(look);
    const { page, problems } = browser;
    page.setDefaultTimeout(120_000); // for a busy machine
    const check = (name: string) =>
      t.test(`${name} ${JSON.stringify(look)}`, async () => assert.deepEqual(await accessibilityProblems(page), []));
    await openPage(page, `${new URL(await cluster.console()).origin}/console/`, page.getByLabel('Bearer token'));
    await check('sign-in');
    const others = (): readonly string[] => problems.filter((problem) => !problem.includes('401'));
    assert.deepEqual(others(), [], 'the question who one is was answered with 401');
    await page.goto('about:blank');
    await goTo(page, await cluster.console(), '#/');
    await page.getByRole('region', { name: 'Pods' }).getByText('Running').waitFor();
    await page
      .getByRole('link', { name: /^Charts of node-/ })
      .first()
      .waitFor();
    await check('overview');
    await page.evaluate(() => (location.hash = '#/list/pods?ns=shop'));
    await page.locator('.grid .row').getByText('Running').first().waitFor();
    await page.keyboard.press('j');
    await check('list');
    await page.getByLabel('Columns', { exact: true }).click();
    await check('columns');
    const topology = async (tab: string, ready: string): Promise<void> => {
      await page.evaluate((hash) => (location.hash = hash), `#/topology/${tab}?ns=shop&group=zone`);
      await page.locator(ready).first().waitFor();
      await check(`topology, ${tab}`);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(overflow <= 0, `${tab} is ${overflow} pixels wider than the screen`);
    };
    await topology('nodes', '.topology .liveness.live');
    await topology('services', '.flow .flow-box');
    await topology('policies', '.topology-matrix button');
    await topology('volumes', '.flow .flow-box');
    await page.evaluate(() => (location.hash = '#/object/deployments.apps/shop/front'));
    await page.locator('.object-graph .flow-box').first().waitFor();
    await page.locator('.object-why .badge').waitFor();
    await check('object');
    for (const [tab, ready] of [
      ['yaml', '.object-yaml .yaml-key'],
      ['history', '.object-history li'],
    ] as const) {
      await page.evaluate((hash) => (location.hash = hash), `#/object/deployments.apps/shop/front?tab=${tab}`);
      await page.locator(ready).first().waitFor();
      await check(tab);
    }
    await page.evaluate(() => (location.hash = '#/list/pods?ns=shop'));
    await page.locator('.object-graph').waitFor({ state: 'detached' });
    await page.locator('.grid .row').first().waitFor();
    await page.keyboard.press(':');
    await page.getByRole('dialog').waitFor();
    await check('palette');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    await check('keys');
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `the page is ${overflow} pixels wider than the screen`);
    assert.deepEqual(others(), []);
  }
});
