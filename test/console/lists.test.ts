import assert from 'node:assert/strict';
import { test } from 'node:test';
import { build } from '../../tools/build.ts';
import { repositoryRoot } from '../../tools/repository.ts';
import { Cluster } from '../../src/testing/index.ts';
import { openBrowser, skipBrowser } from './browser.ts';

const web = (name: string, replicas: number): string => `
apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}, namespace: default}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}}}
    spec: {containers: [{name: c, image: nginx}]}
`;

test('a link signs in once, and lists are live, filtered, sorted and navigated', { skip: skipBrowser }, async () => {
  await build(repositoryRoot);
  await using cluster = await Cluster.start({ clock: 'real', nodes: 2 });
  await cluster.apply(web('web', 3));
  const link = await cluster.console();
  await using browser = await openBrowser();
  const { page, context, problems } = browser;
  await page.goto(link);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  assert.ok(!page.url().includes('code'), page.url());
  await page.getByRole('region', { name: 'Pods' }).getByRole('link', { name: 'Running: 3' }).click();
  await page.getByRole('heading', { name: 'Pods' }).waitFor();
  assert.equal(await page.getByLabel('Filter').inputValue(), 'Running');
  await page.keyboard.press('Escape');
  const rows = page.locator('.grid .row');
  await rows.filter({ hasText: 'Running' }).nth(2).waitFor();

  await cluster.apply(web('api', 2));
  await rows.filter({ hasText: 'api-' }).nth(1).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('api !nothing');
  await page.getByText('2 of 5 objects').waitFor();
  await page.getByLabel('Filter').fill('-l app=web');
  await page.getByText('3 objects').waitFor();
  await page.keyboard.press('Enter');
  await page.keyboard.press('G');
  assert.equal(await page.locator('.row[aria-selected=true]').getAttribute('aria-rowindex'), '4');
  await page.keyboard.press('k');
  assert.equal(await page.locator('.row[aria-selected=true]').getAttribute('aria-rowindex'), '3');
  await page.keyboard.press('Escape');
  await page.getByText('5 objects').waitFor();

  await page.getByRole('button', { name: 'Name', exact: true }).click();
  await page.getByRole('button', { name: 'Name', exact: true }).click();
  assert.match(page.url(), /sort=-name/);
  assert.match((await rows.first().textContent()) ?? '', /web-/);
  await page.keyboard.press(':');
  await page.locator('.palette input:focus').waitFor();
  // The dialog's field has the focus until the next frame, and the next key belongs to the page nevertheless.
  await page.evaluate(() => {
    const field = document.querySelector('.palette input')!;
    field.closest('dialog')!.close();
    field.dispatchEvent(new KeyboardEvent('keydown', { key: '?', bubbles: true, cancelable: true }));
  });
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  await page.keyboard.press(':');
  await page.locator('.palette input:focus').waitFor();
  await page.keyboard.type('deploy');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Deployments' }).waitFor();
  await rows.filter({ hasText: 'web' }).getByText('3/3').waitFor();

  const [cookie] = await context.cookies();
  assert.match(cookie!.name, /^__Host-keelson-console-\d+$/);
  assert.ok(cookie!.secure && cookie!.httpOnly && cookie!.sameSite === 'Strict');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Bearer token').waitFor();
  assert.deepEqual(problems, []);
  await page.goto('about:blank');
  await page.goto(link);
  await page.getByText('The link was used already').waitFor();
});

test('texts of objects are shown as text, whatever they contain', { skip: skipBrowser }, async () => {
  await build(repositoryRoot);
  await using cluster = await Cluster.start({ clock: 'real', nodes: 1 });
  const hostile = '<img src=x onerror=alert(1)><script>alert(2)</script>';
  await cluster.apply({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'hostile', namespace: 'default' },
    involvedObject: { kind: 'Pod', name: 'x', namespace: 'default' },
    type: 'Warning',
    reason: 'Hostile',
    message: hostile,
  } as never);
  await using browser = await openBrowser();
  const { page, problems } = browser;
  page.on('dialog', (dialog) => assert.fail(`the page ran: ${dialog.message()}`));
  await page.goto(await cluster.console());
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.keyboard.press(':');
  // without a pause, as users of k9s type
  await page.keyboard.type('events');
  await page.keyboard.press('Enter');
  await page.getByText(hostile).waitFor();
  assert.equal(await page.locator('.grid img, .grid script').count(), 0);
  assert.deepEqual(problems, []);
});

test('a user with rights in one namespace is offered what can be read there', { skip: skipBrowser }, async () => {
  await build(repositoryRoot);
  await using cluster = await Cluster.start({ clock: 'real', nodes: 1 });
  await cluster.apply(`${web('web', 1)}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: default}
rules: [{apiGroups: [''], resources: [pods, configmaps], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: reader, namespace: default}]
`);
  const { body } = await cluster.client.raw({
    method: 'POST',
    path: '/api/v1/namespaces/default/serviceaccounts/reader/token',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  });
  const { status } = JSON.parse(Buffer.from(body).toString()) as { status: { token: string } };
  const { url } = await cluster.listen();
  await using browser = await openBrowser();
  const { page } = browser;
  await page.goto(`${url}/console/`);
  await page.getByLabel('Bearer token').fill('no such token');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('does not accept').waitFor();
  await page.getByLabel('Bearer token').fill(status.token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByLabel('Namespace').fill('default');
  await page.keyboard.press('Enter');
  await page.locator('nav.menu').getByText('Pods').click();
  await page.locator('.grid .row').getByText('web-').waitFor();
  const offered = page.locator('nav.menu a');
  await page.locator('nav.menu').getByText('ConfigMaps').waitFor();
  assert.deepEqual(await offered.allTextContents(), ['Overview', 'Topology', 'Charts', 'Pods', 'ConfigMaps']);
  await cluster.client.raw({ method: 'DELETE', path: '/api/v1/namespaces/default/serviceaccounts/reader' });
  // The page checks its session twice a minute; validated tokens are cached for ten seconds.
  await page.getByText('The session has ended').waitFor({ timeout: 90_000 });
});
