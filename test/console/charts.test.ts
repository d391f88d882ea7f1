import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator } from 'playwright-core';
import { build } from '../../tools/build.ts';
import { repositoryRoot } from '../../tools/repository.ts';
import { accessibilityProblems } from './axe.ts';
import { openBrowser, skipBrowser } from './browser.ts';
import { startDemoCluster } from './demo-cluster.ts';
import { accountWith, goTo } from './pod-world.ts';

/** The value in a chart's text for screen readers, such as `12:00:30: used 150m`. */
async function valueText(chart: Locator): Promise<string> {
  return (await chart.getByRole('slider').getAttribute('aria-valuetext')) ?? '';
}

test(
  'charts of nodes, pods, workloads and the API can be read by mouse, by keys and as tables',
  { skip: skipBrowser },
  async () => {
    await build(repositoryRoot);
    await using cluster = await startDemoCluster();
    await using browser = await openBrowser();
    const { page, problems } = browser;
    await goTo(page, await cluster.console(), '#/list/pods?ns=shop');
    await page.locator('nav.menu').getByRole('link', { name: 'Charts' }).click();
    const cpu = page.getByRole('region', { name: 'Processor', exact: true });
    await page.getByRole('navigation', { name: 'Charts' }).getByRole('link', { name: 'Deployments' }).click();
    // The first sample has no rates; the second one follows ten seconds later.
    await cpu.getByRole('slider').waitFor({ timeout: 60_000 });
    await cpu.getByRole('listitem').filter({ hasText: 'cart' }).getByText('450m').waitFor({ timeout: 60_000 });
    assert.equal(await page.locator('.u-over').count(), await page.locator('.chart-plot').count(), 'uPlot draws');
    assert.deepEqual(await accessibilityProblems(page), []);

    await cpu.getByRole('link', { name: 'cart' }).click();
    await page.getByRole('heading', { name: 'Charts: Deployment cart' }).waitFor();
    await cpu.getByText('450m').first().waitFor();
    assert.match(await valueText(cpu), /^\d\d:\d\d:\d\d: used 450m$/);
    await cpu.getByRole('slider').focus();
    await page.keyboard.press('Home');
    await cluster.eventually(async () => assert.match(await valueText(cpu), /: used not known$/));
    await page.keyboard.press('Escape');
    await cluster.eventually(async () => assert.match(await valueText(cpu), /: used 450m$/));
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    const numbers = cpu.getByRole('region', { name: 'Processor in numbers, the newest first' });
    const cells = numbers.getByRole('row').nth(1).getByRole('cell');
    await cells.getByText('450m').waitFor();
    const memory = page.getByRole('region', { name: 'Memory' });
    await memory.getByText('540 MiB').first().waitFor();
    await page.getByRole('region', { name: 'Restarts' }).getByRole('slider').waitFor();
    assert.deepEqual(await accessibilityProblems(page), []);

    const box = (await memory.locator('.u-over').boundingBox())!;
    await page.mouse.move(box.x + box.width - 3, box.y + box.height / 2);
    await memory
      .locator('.chart-time')
      .getByText(/^\d\d:\d\d:\d\d$/)
      .waitFor();
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.locator('.u-over').first().waitFor();

    await page.goBack();
    await page.getByRole('navigation', { name: 'Charts' }).getByRole('link', { name: 'API' }).click();
    await page.getByRole('region', { name: 'Latency' }).getByRole('slider').waitFor({ timeout: 60_000 });
    await page.getByRole('region', { name: 'Requests', exact: true }).getByText('reads').waitFor();
    assert.deepEqual(await accessibilityProblems(page), []);

    await page.evaluate(() => (location.hash = '#/list/pods?ns=shop&q=payment'));
    await page.locator('.grid .row').first().waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('c');
    await page.getByRole('heading', { name: /Charts: Pod payment-/ }).waitFor();
    const restarts = page.getByRole('region', { name: 'Restarts' });
    await cluster.eventually(async () => {
      await restarts
        .getByRole('button', { name: /numbers/ })
        .or(restarts.locator('summary'))
        .first()
        .waitFor();
      if ((await restarts.getByRole('table').count()) === 0) await restarts.locator('summary').click();
      const counts = await restarts.getByRole('cell').allTextContents();
      assert.ok(
        counts.some((text) => Number(text) >= 1),
        counts.join(),
      );
    });
    assert.deepEqual(problems, []);
  },
);

test(
  'a user with rights in one namespace sees charts of its pods, and none of nodes or the API',
  { skip: skipBrowser },
  async () => {
    await build(repositoryRoot);
    await using cluster = await startDemoCluster();
    await cluster.apply(
      '{apiVersion: v1, kind: Pod, metadata: {name: mine, namespace: default}, spec: {containers: [{name: main, image: shop/agent:1}]}}',
    );
    const { url, token } = await accountWith(cluster, 'view');
    await using browser = await openBrowser();
    const { page } = browser;
    await page.goto(url);
    await page.getByLabel('Bearer token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.locator('nav.menu').waitFor();
    await page.evaluate(() => (location.hash = '#/charts?ns=default'));
    const tabs = page.getByRole('navigation', { name: 'Charts' }).getByRole('link');
    await page.getByRole('region', { name: 'Memory' }).getByText('mine').waitFor({ timeout: 60_000 });
    assert.deepEqual(await tabs.allTextContents(), ['Pods', 'Deployments', 'StatefulSets', 'DaemonSets', 'Jobs']);
    await page.evaluate(() => (location.hash = '#/charts/api?ns=default'));
    await page.getByText('You may not see what these charts are of.').waitFor();
    await page.evaluate(() => (location.hash = '#/charts/pods/shop/ledger'));
    await page
      .getByRole('alert')
      .getByText(/cannot get resource "pods"/)
      .waitFor();
  },
);
