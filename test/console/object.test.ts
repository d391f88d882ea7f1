import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { build } from '../../tools/build.ts';
import { repositoryRoot } from '../../tools/repository.ts';
import { Cluster } from '../../src/testing/index.ts';
import { accessibilityProblems } from './axe.ts';
import { openBrowser, skipBrowser } from './browser.ts';

const web = (extra = ''): string => `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default, labels: {team: shop}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx${extra}}]}
`;

/** Signs in and opens a place. */
async function goTo(page: Page, link: string, place: string): Promise<void> {
  await page.goto(link);
  await page.locator('nav.menu a').first().waitFor();
  await page.evaluate((hash) => (location.hash = hash), place);
}

test(
  'an object is explained and shown with related objects, and its actions show their commands',
  { skip: skipBrowser },
  async () => {
    await build(repositoryRoot);
    await using cluster = await Cluster.start({ clock: 'real', nodes: 2 });
    await cluster.apply(web(', env: [{name: K, valueFrom: {secretKeyRef: {name: keys, key: k}}}]'));
    await using browser = await openBrowser();
    const { page, problems } = browser;
    await goTo(page, await cluster.console(), '#/list/deployments.apps');
    await page.getByRole('link', { name: 'web', exact: true }).click();
    const why = page.locator('.object-why');
    await why.getByText('SecretMissing').first().waitFor({ timeout: 60_000 });
    await why.getByText('kubectl create secret generic keys').first().waitFor();
    await page.getByText('Available: False').waitFor();
    await page.getByRole('link', { name: 'team=shop' }).waitFor();
    await page.getByRole('heading', { name: 'Pods (2)' }).waitFor();
    await page.getByRole('region', { name: 'Events' }).getByText('ScalingReplicaSet').waitFor();

    await page.getByRole('button', { name: 'Scale' }).click();
    await page.getByRole('spinbutton', { name: 'Replicas' }).fill('3');
    await page.getByText('kubectl scale deployment/web -n default --replicas=3').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Scale' }).click();
    await page.getByRole('heading', { name: 'Pods (3)' }).waitFor();
    await page.getByRole('button', { name: 'Pause rollout' }).click();
    await page.getByText('kubectl rollout pause deployment/web -n default').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Pause rollout' }).click();
    await page.getByRole('button', { name: 'Resume rollout' }).waitFor();

    await page.getByRole('link', { name: 'History' }).click();
    await page.getByText('This server keeps no history').waitFor();
    await page.getByRole('link', { name: 'Summary' }).click();

    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('kubectl delete deployment/web -n default').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('This object does not exist').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Scale' }).count(), 0);
    // The browser itself logs the 404.
    assert.deepEqual(
      problems.filter((text) => !/404 .*\/deployments\/web\b/.test(text)),
      [],
    );
  },
);

test('an edit is tried first, names conflicting managers, and is applied', { skip: skipBrowser }, async () => {
  await build(repositoryRoot);
  await using cluster = await Cluster.start({ clock: 'real', nodes: 1 });
  await cluster.apply(web());
  await using browser = await openBrowser();
  const { page, problems } = browser;
  await goTo(page, await cluster.console(), '#/list/deployments.apps');
  await page.locator('.grid .row').first().waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('e');
  const editor = page.getByRole('textbox', { name: 'Object as YAML' });
  await editor.waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
  const line = page.locator('.cm-line', { hasText: /^ {2}replicas: 2$/ });
  await line.click();
  const help = page.getByRole('complementary', { name: 'What the field at the cursor means' });
  await help.getByRole('heading', { name: 'spec.replicas' }).waitFor();
  await help.getByText('kubectl explain deployment.spec.replicas').waitFor();
  await help.getByText('integer').waitFor();
  await page.keyboard.press('End');
  await page.keyboard.press('Backspace');
  await page.keyboard.type('4');
  await page.getByRole('button', { name: 'Try on the server' }).click();
  await page.getByText('Other managers set these fields:').waitFor();
  await page.getByText('.spec.replicas', { exact: true }).waitFor();
  await page.getByLabel('Take these fields over').check();
  await page.getByRole('button', { name: 'Try on the server' }).click();
  await page.locator('.object-changes ins', { hasText: 'replicas: 4' }).waitFor();
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.locator('.object-yaml').getByText('replicas: 4').first().waitFor();
  // The browser itself logs the refusal.
  assert.deepEqual(
    problems.filter((text) => !text.includes('409')),
    [],
  );
});
