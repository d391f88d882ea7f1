import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { Pods } from '../../src/testing/index.ts';
import { build } from '../../tools/build.ts';
import { repositoryRoot } from '../../tools/repository.ts';
import { accessibilityProblems } from './axe.ts';
import { openBrowser, skipBrowser } from './browser.ts';
import { startDemoCluster } from './demo-cluster.ts';
import { accountWith, goTo, startPodWorld } from './pod-world.ts';

async function saysCard(page: Page, text: RegExp): Promise<boolean> {
  const card = page.locator('.topology-card');
  return (await card.count()) > 0 && text.test((await card.textContent()) ?? '');
}

/** Moves the mouse over the map until the card shows this. */
async function pointAt(page: Page, text: RegExp): Promise<void> {
  const { x, y, width, height } = (await page.locator('.topology-map').boundingBox())!;
  for (let down = 40; down < height; down += 9)
    for (let across = 12; across < width; across += 14) {
      await page.mouse.move(x + across, y + down);
      if (!(await saysCard(page, text))) continue;
      // The card follows with a later frame: it may show the previous place.
      await page.waitForTimeout(300);
      if (await saysCard(page, text)) return;
    }
  assert.fail(`nothing on the map says ${text}`);
}

/** Messages that the browser itself logs when a link of the machine changes are no errors of the page. */
const own = (problems: readonly string[]): readonly string[] =>
  problems.filter((text) => !text.includes('ERR_NETWORK_CHANGED'));

test('nodes show their pods, by mouse and by keys, filtered and grouped', { skip: skipBrowser }, async () => {
  await build(repositoryRoot);
  await using cluster = await startDemoCluster();
  await using browser = await openBrowser();
  const { page, problems } = browser;
  await goTo(page, await cluster.console(), '#/list/pods');
  await page.locator('nav.menu').getByRole('link', { name: 'Topology' }).click();
  const map = page.getByRole('listbox', { name: 'Nodes and their pods' });
  const legend = page.getByRole('list', { name: 'What the tiles mean' });
  await legend.getByText('failing 3').waitFor({ timeout: 60_000 });
  await legend.getByText('ended 1').waitFor();

  await map.focus();
  const active = map.getByRole('option');
  await active.getByText('Without a node, 1 pod').waitFor();
  await page.keyboard.press('ArrowDown');
  await active.getByText('shop/too-large, Pending, 0/1 ready, Without a node').waitFor();
  await page.keyboard.press('PageDown');
  await active.getByText(/^Node node-1, Ready, \d+ pods$/).waitFor();
  await page.locator('.topology-card').getByText('zone-a').waitFor();
  await page.keyboard.press('ArrowDown');
  await active.getByText(/^shop\/agent-\w+, Running, 1\/1 ready, on node-1$/).waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: /Pod agent-/ }).waitFor();
  await page.goBack();

  await page.locator('.topology-bar').waitFor();
  await cluster.eventually(async () => {
    await page.keyboard.press('/');
    assert.equal(await page.locator('.topology-bar input:focus').count(), 1);
  });
  await page.getByLabel('Filter').fill('orders');
  await map.focus();
  // The filter takes effect with a later frame.
  await cluster.eventually(async () => {
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowDown');
    assert.match((await active.textContent()) ?? '', /^shop\/orders-\d,/);
  });
  // Between tiles, the card would show the item selected by keys.
  await page.getByLabel('Filter').focus();
  await pointAt(page, /orders-\d.*shop.*node-\d/);
  await page.mouse.down();
  await page.mouse.up();
  await page.getByRole('heading', { name: /Pod orders-\d/ }).waitFor();
  await page.goBack();
  await page.getByLabel('Filter').fill('-l app=cart');
  await page.getByText('3 pods').waitFor();
  await page.getByLabel('Filter').fill('');
  await page.getByLabel('Group by').selectOption('zone');
  assert.match(page.url(), /group=zone/);
  await page.getByLabel('Fill by').selectOption('cpu');
  await page.getByText('A full tile uses 150m.').waitFor({ timeout: 60_000 });
  await page.getByRole('button', { name: 'smaller tiles' }).click();
  assert.match(page.url(), /size=16/);
  assert.deepEqual(await accessibilityProblems(page), []);
  assert.deepEqual(own(problems), []);
});

test(
  'services, policies and volumes are diagrams and tables of links, without errors',
  { skip: skipBrowser },
  async () => {
    await build(repositoryRoot);
    await using cluster = await startDemoCluster();
    await using browser = await openBrowser();
    const { page, problems } = browser;
    await goTo(page, await cluster.console(), '#/topology/services?ns=shop');
    const services = page.getByRole('region', { name: 'Services and the pods behind them' });
    const column = (name: string) => services.getByRole('region', { name });
    await column('Endpoint slices')
      .getByRole('link', { name: /6 of 6 ready/ })
      .waitFor({ timeout: 60_000 });
    await column('Endpoint slices')
      .getByRole('link', { name: /0 of 2 ready/ })
      .waitFor({ timeout: 60_000 });
    await column('Services')
      .getByRole('link', { name: /^failing, missing/ })
      .waitFor();
    await column('Services').getByRole('link', { name: 'mail, no selector · ExternalName mail.example.com' }).waitFor();
    assert.equal(
      await column('Endpoints')
        .getByRole('link', { name: /^ready, front-/ })
        .count(),
      6,
    );
    assert.deepEqual(await accessibilityProblems(page), []);

    await page.getByRole('link', { name: 'Network policies' }).click();
    const table = page.getByRole('grid', { name: 'Who may reach whom' });
    await table.getByRole('button', { name: 'cart (Deployment) → orders (StatefulSet): TCP 5432' }).waitFor();
    await table.getByRole('button', { name: 'front (Deployment) → orders (StatefulSet): nothing' }).click();
    const answer = page.getByRole('region', { name: 'What if a pod opens a connection to another?' });
    await answer.getByText('Nothing passes.').waitFor();
    await answer
      .getByRole('region', { name: /receives$/ })
      .getByText('orders-in')
      .waitFor();
    await answer
      .getByRole('region', { name: /sends$/ })
      .getByText('No policy isolates it')
      .waitFor();
    assert.deepEqual(await accessibilityProblems(page), []);
    await table.getByRole('button', { name: /^cart .* → orders .*: TCP 5432$/ }).focus();
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await answer.getByText('Some ports alone pass:').waitFor();
    await answer.getByText('lets through TCP 5432 by rule 1').waitFor();
    await answer.getByText('lets all of it through by rule 1').waitFor();
    await answer.getByRole('link', { name: 'cart-out' }).click();
    await page.getByRole('heading', { name: 'NetworkPolicy cart-out' }).waitFor();

    await page.evaluate(() => (location.hash = '#/topology/volumes?ns=shop'));
    const volumes = page.getByRole('region', { name: 'Claims, their volumes, and where they are' });
    await volumes
      .getByRole('region', { name: 'Pods' })
      .getByRole('link', { name: /ledger/ })
      .waitFor();
    await volumes
      .getByRole('region', { name: 'Claims' })
      .getByRole('link', { name: 'not ready, archive, Pending · 5Gi · tapes' })
      .waitFor();
    await volumes
      .getByRole('region', { name: 'Volumes' })
      .getByRole('link', { name: /disk-2/ })
      .waitFor();
    await volumes.getByRole('region', { name: 'Nodes' }).getByRole('link', { name: 'node-2' }).waitFor();
    assert.deepEqual(await accessibilityProblems(page), []);
    assert.deepEqual(own(problems), []);
  },
);

test('the map shows only readable objects, and hostile words as text', { skip: skipBrowser }, async () => {
  await build(repositoryRoot);
  await using cluster = await startPodWorld();
  const hostile = '<img src=x onerror=alert(1)>';
  await cluster.client.resource(Pods).create({
    metadata: { name: 'hostile', namespace: 'default' },
    spec: { nodeSelector: { never: 'true' }, containers: [{ name: 'c', image: 'talker:1' }] },
  });
  await cluster.client.raw({
    method: 'PATCH',
    path: '/api/v1/namespaces/default/pods/hostile/status',
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { status: { phase: 'Failed', reason: hostile } },
  });
  const { url, token } = await accountWith(cluster, 'view');
  await using browser = await openBrowser();
  const { page, problems } = browser;
  page.on('dialog', (dialog) => assert.fail(`the page ran: ${dialog.message()}`));
  await page.goto(url);
  await page.getByLabel('Bearer token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByLabel('Namespace').fill('default');
  await page.keyboard.press('Enter');
  await page.locator('nav.menu').getByRole('link', { name: 'Topology' }).click();
  const map = page.getByRole('listbox');
  await page.getByText(/[56] pods/).waitFor();
  await map.focus();
  await page.keyboard.press('ArrowDown');
  await map.getByRole('option').getByText(`default/hostile, ${hostile}`).waitFor();
  await page.locator('.topology-card').getByText(hostile).waitFor();
  assert.equal(await page.locator('.topology img').count(), 0);
  // A node that may not be read has no link.
  await page.keyboard.press('PageDown');
  await map
    .getByRole('option')
    .getByText(/^Node node-\d, \d pods?$/)
    .waitFor();
  await page.keyboard.press('Enter');
  assert.match(page.url(), /#\/topology/);
  assert.deepEqual(await page.locator('.topology-tabs a').allTextContents(), [
    'Nodes',
    'Services',
    'Network policies',
    'Volumes',
  ]);
  await page.getByRole('link', { name: 'Network policies' }).click();
  await page.getByRole('grid').getByRole('button', { name: 'web (Deployment) → talk: all' }).waitFor();
  await page.getByLabel('Namespace').fill('kube-system');
  await page.keyboard.press('Enter');
  await page.getByText('You may not list what this shows').waitFor();
  assert.deepEqual(
    own(problems).filter((text) => !/ 40[13] /.test(text)),
    [],
  );
});
