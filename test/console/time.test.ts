import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { build } from '../../tools/build.ts';
import { repositoryRoot } from '../../tools/repository.ts';
import { Cluster } from '../../src/testing/index.ts';
import { Pods } from '../../src/api/gen/resources.ts';
import { accessibilityProblems } from './axe.ts';
import { openBrowser, skipBrowser } from './browser.ts';
import { historyInMemory } from './history-in-memory.ts';
import { accountWith, goTo } from './pod-world.ts';

const web = (replicas: number, image: string): string => `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: '${image}'}]}
`;

const rowsOf = (page: Page) => page.locator('.grid .row');

/** A cluster in which `web` had three pods at the returned moment, and has one now. */
async function startWorld(): Promise<{ cluster: Cluster; thenMs: number }> {
  const cluster = await Cluster.start({ clock: 'real', nodes: 2, unknownImages: 'run', history: historyInMemory });
  await cluster.advance('6s'); // the history begins
  await cluster.apply(web(3, 'shop/web:1'));
  await cluster.waitFor('deployment/web', 'Available');
  await cluster.advance('2s');
  const thenMs = cluster.nowMs;
  await cluster.advance('2s');
  await cluster.apply(web(1, 'shop/web:2'));
  await cluster.eventually(() => {
    const pods = cluster.peek(Pods).filter(({ metadata }) => metadata.namespace === 'default');
    assert.equal(pods.length, 1);
  });
  return { cluster, thenMs };
}

test(
  'every view is moved to a past moment and to the present again, by slider, buttons, keys and link',
  { skip: skipBrowser },
  async () => {
    await build(repositoryRoot);
    const { cluster, thenMs } = await startWorld();
    await using _ = cluster;
    await using browser = await openBrowser();
    const { page, problems } = browser;
    const at = encodeURIComponent(new Date(thenMs).toISOString());
    await goTo(page, await cluster.console(), '#/list/pods?ns=default');
    await page.getByText('1 object', { exact: true }).waitFor();
    assert.equal(await page.getByRole('slider', { name: 'Moment' }).count(), 0);

    await page.keyboard.press('T');
    const slider = page.getByRole('slider', { name: 'Moment' });
    await slider.waitFor();
    assert.match((await slider.getAttribute('aria-valuetext')) ?? '', /^The present, live/);
    await slider.focus();
    const end = Number(await slider.inputValue());
    for (let value = end; value > Math.round(thenMs / 1000); value--) await page.keyboard.press('ArrowLeft');
    await page.getByText('3 objects').waitFor();
    await page.getByText('as it was', { exact: true }).waitFor();
    assert.match(page.url(), /[?&]at=/);
    assert.match((await slider.getAttribute('aria-valuetext')) ?? '', /^As it was at/);
    assert.equal(await rowsOf(page).getByText('Running').count(), 3);

    await rowsOf(page).first().getByRole('link').click();
    await page.locator('.object-facts').waitFor();
    assert.match(page.url(), /#\/object\/pods.*[?&]at=/);
    assert.equal(await page.getByRole('button', { name: 'Delete' }).count(), 0, 'the past cannot be changed');
    assert.equal(await page.getByRole('link', { name: /^Edit/ }).count(), 0, 'nor edited');
    await page.getByText('Known for the present alone').waitFor();
    await page.getByRole('link', { name: 'YAML' }).click();
    await page.locator('.object-yaml').getByText('shop/web:1').first().waitFor();

    await page.evaluate((hash) => (location.hash = hash), `#/?at=${at}`);
    const pods = page.getByRole('region', { name: 'Pods' });
    await pods.getByRole('link', { name: 'Running: 3' }).waitFor();
    assert.deepEqual(await accessibilityProblems(page), []);
    await page.evaluate((hash) => (location.hash = hash), `#/topology/nodes?ns=default&at=${at}`);
    await page.getByText('3 pods').waitFor();
    await page.evaluate((hash) => (location.hash = hash), `#/charts/pods?at=${at}`);
    await page.getByText('This page shows the present').waitFor();
    await page.evaluate((hash) => (location.hash = hash), `#/object/deployments.apps/default/web?at=${at}`);
    await page.getByRole('heading', { name: 'Pods (3)' }).waitFor();

    await page.getByRole('button', { name: 'Live' }).click();
    await page.getByRole('heading', { name: 'Pods (1)' }).waitFor();
    assert.doesNotMatch(page.url(), /at=/);
    await page.getByRole('button', { name: '−1 min' }).click();
    await page.getByText(/This object was not there then|cannot be shown/).waitFor();
    await page.evaluate((hash) => (location.hash = hash), '#/list/pods?ns=default&at=2001-01-01T00:00:00Z');
    await page.getByText('that is before the history began').waitFor();
    await page.evaluate((hash) => (location.hash = hash), `#/list/leases.coordination.k8s.io?at=${at}`);
    await page.getByText('changes of leases are not kept').waitFor();
    const expected = /status of (404|410) /;
    assert.deepEqual(
      problems.filter((problem) => !expected.test(problem)),
      [],
    );
  },
);

test(
  'a user with rights in one namespace sees its past, with a note that the rest is left out',
  { skip: skipBrowser },
  async () => {
    await build(repositoryRoot);
    const { cluster, thenMs } = await startWorld();
    await using _ = cluster;
    const { url, token } = await accountWith(cluster, 'view');
    await using browser = await openBrowser();
    const { page } = browser;
    await page.goto(url);
    await page.getByLabel('Bearer token').fill(token);
    await page.keyboard.press('Enter');
    await page.locator('nav.menu').waitFor();
    const at = encodeURIComponent(new Date(thenMs).toISOString());
    await page.evaluate((hash) => (location.hash = hash), `#/list/deployments.apps?ns=default&at=${at}`);
    await rowsOf(page).getByText('3/3').waitFor();
    await page.getByText('without what is gone').waitFor();
    await page.evaluate((hash) => (location.hash = hash), `#/list/pods?ns=default&at=${at}`);
    await page
      .getByText('Nothing here')
      .or(page.getByText('No objects'))
      .or(page.locator('.grid .notice'))
      .first()
      .waitFor();
    assert.equal(await rowsOf(page).count(), 0, 'the pods of then are gone');
  },
);

test(
  'a server without history shows it; the menu of a narrow page closes with Escape, and signs out',
  { skip: skipBrowser },
  async () => {
    await build(repositoryRoot);
    await using cluster = await Cluster.start({ clock: 'real', nodes: 1 });
    await using browser = await openBrowser({ width: 320, height: 640 });
    const { page } = browser;
    await goTo(page, await cluster.console(), '#/list/pods');
    await page.getByRole('button', { name: 'Time' }).click();
    await page.getByText('This server keeps no history').waitFor();
    const menu = page.getByRole('button', { name: 'Menu', exact: true });
    const signOut = page.getByRole('button', { name: 'Sign out', exact: true });
    await menu.click();
    await signOut.waitFor();
    await page.keyboard.press('Escape');
    await signOut.waitFor({ state: 'hidden' });
    await menu.click();
    await signOut.click();
    await page.getByLabel('Bearer token').waitFor();
  },
);
