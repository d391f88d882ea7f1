import assert from 'node:assert/strict';
import { test } from 'node:test';
import { build } from '../../tools/build.ts';
import { repositoryRoot } from '../../tools/repository.ts';
import { Cluster } from '../../src/testing/index.ts';
import { accessibilityProblems } from './axe.ts';
import { openBrowser, skipBrowser } from './browser.ts';

test('a link of another user ends the session only when its user agrees', { skip: skipBrowser }, async () => {
  await build(repositoryRoot);
  await using cluster = await Cluster.start({ clock: 'real', nodes: 1 });
  await cluster.apply('{apiVersion: v1, kind: ServiceAccount, metadata: {name: reader, namespace: default}}');
  const { body } = await cluster.client.raw({
    method: 'POST',
    path: '/api/v1/namespaces/default/serviceaccounts/reader/token',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  });
  const { status } = JSON.parse(Buffer.from(body).toString()) as { status: { token: string } };
  const { origin } = new URL(await cluster.console());
  await using browser = await openBrowser();
  const { page } = browser;
  const user = page.locator('header .user');
  const follow = async (): Promise<void> => {
    await page.goto('about:blank');
    await page.goto(await cluster.console());
    await page.getByRole('dialog').getByText('ends the session of system:serviceaccount:default:reader').waitFor();
  };
  await page.goto(`${origin}/console/`);
  await page.getByLabel('Bearer token').fill(status.token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await user.getByText('default:reader').waitFor();

  await follow();
  assert.deepEqual(await accessibilityProblems(page), []);
  await page.getByRole('button', { name: 'Keep this session' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.reload();
  await user.getByText('default:reader').waitFor();
  await follow();
  await page.keyboard.press('Escape');
  await page.reload();
  await user.getByText('default:reader').waitFor();

  await follow();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await user.getByText('default:reader').waitFor({ state: 'detached' });
  await page.reload();
  await user.waitFor();
  assert.doesNotMatch((await user.textContent()) ?? '', /reader/);
});
