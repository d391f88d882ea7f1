/** The console on a real cluster: with containerd, the kubelet and the network. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { build } from '../../tools/build.ts';
import { repositoryRoot } from '../../tools/repository.ts';
import { images, keelson, type Space, startCluster, type TestCluster } from '../integration/cluster-fixture.ts';
import { until } from '../integration/fixtures/until.ts';
import { openBrowser, skipBrowser, type TestBrowser } from './browser.ts';
import { linksAtRest } from './links-at-rest.ts';
import { goTo } from './pod-world.ts';
import { actionFlows } from './real-actions.ts';
import { viewFlows } from './real-views.ts';
import type { RealWorld } from './real-world.ts';

const skip = skipBrowser || (process.getuid?.() === 0 ? false : 'needs root');

const SPACE = 'real';
const web = (more: string): string => `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: ${SPACE}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: web, image: ${images.test}, ports: [{containerPort: 8080, name: http}]${more}}]
`;

/** Writes a line a second, and fails when its file exists. */
const TALKER =
  'echo begun; i=0; while [ ! -e /tmp/fail ]; do i=$((i+1)); echo tick $i; sleep 1; done; echo failing; exit 3';
const talker = `
apiVersion: v1
kind: Pod
metadata: {name: talk, namespace: ${SPACE}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: ${images.test}
      command: [sh, -c, '${TALKER}']
      resources: {requests: {cpu: 10m, memory: 16Mi}, limits: {cpu: 500m, memory: 64Mi}}
`;

describe('the console over a real cluster', { skip }, () => {
  let cluster: TestCluster;
  let space: Space;
  let browser: TestBrowser;
  let page: Page;
  before(async () => {
    await build(repositoryRoot);
    cluster = await startCluster();
    space = await cluster.space(SPACE);
    await space.apply(talker);
    await space.apply(web(''));
    await space.kubectl('rollout status deployment/web --timeout=120s');
    await space.kubectl('wait --for=condition=Ready pod/talk --timeout=120s');
    await linksAtRest();
    browser = await openBrowser();
    page = browser.page;
    await until('signed in', async () => {
      page.setDefaultTimeout(15_000);
      const link = await keelson(['console', '--print', '--data-dir', cluster.dataDir]);
      // A link of the machine may change meanwhile, and the browser then drops its requests.
      await goTo(page, link.stdout.trim(), '#/');
      return true;
    });
    page.setDefaultTimeout(60_000);
  });
  after(async () => {
    await browser?.[Symbol.asyncDispose]();
    await cluster?.stop();
  });
  /** Repeated when a link of the machine changed, because the browser then drops its requests. */
  const press = async (name: string, expected: Locator): Promise<void> => {
    const lost = page.getByText(/the API server (?:does not answer|broke off)/);
    do {
      await page.getByRole('button', { name }).click();
      await expected.or(lost).first().waitFor();
    } while (!(await expected.isVisible()));
  };
  const show = (place: string): Promise<string> => page.evaluate((hash) => (location.hash = hash), place);

  test('attach follows the output of a container', async () => {
    await show(`#/shell/pods/${SPACE}/talk?container=main`);
    await page.getByLabel('Shell', { exact: true }).selectOption('attach');
    await page
      .locator('.xterm-rows')
      .getByText(/^tick \d+/)
      .first()
      .waitFor();
  });

  test('the life of a pod: its stations, the timeline of its start, and the resource use of its container', async () => {
    await show(`#/pod/pods/${SPACE}/talk`);
    await page.locator('.pod-station[aria-current="step"]').getByText('Ready').waitFor();
    const start = page.getByRole('region', { name: 'Start' });
    for (const step of ['create', 'filter and score', 'syncPod', 'RunPodSandbox', 'CreateContainer'])
      await start.getByText(step).first().waitFor();
    const card = page.getByRole('article', { name: 'main' });
    await card.getByText('cpu 10m, at most 500m · memory 16Mi, at most 64Mi').waitFor();
    await card.getByRole('img', { name: /^Memory: \d[\d.]* [KM]iB of 64\.0 MiB$/ }).waitFor({ timeout: 120_000 });
  });

  test('a container fails: the kubelet’s activity is shown live, and its previous log can be read', async () => {
    const events = page.getByRole('region', { name: 'Newest events of the kubelet' });
    await space.kubectl(['exec', 'talk', '--', 'touch', '/tmp/fail']);
    await events.getByText('ContainerDied').first().waitFor();
    await events
      .getByText(/sync \d+\.\d ms/)
      .first()
      .waitFor();
    const card = page.getByRole('article', { name: 'main' });
    await card.getByText('exit code 3').first().waitFor();
    await card.getByRole('link', { name: 'Logs' }).click();
    const pane = page.locator('.logs-pane');
    await page.getByLabel('Before the last restart').check();
    await pane.getByText('failing', { exact: true }).waitFor();
    await page.getByText('The container has ended.').waitFor();
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click(),
    ]);
    const text = readFileSync(await saved.path(), 'utf8');
    assert.match(text, /^begun\ntick 1\n(?:tick \d+\n)*failing\n$/);
  });

  test('a port is requested through the API server, and the container’s page is shown', async () => {
    const name = (await space.kubectl('get pods -l app=web -o jsonpath={.items[0].metadata.name}')).trim();
    await show(`#/pod/pods/${SPACE}/${name}`);
    const card = page.getByRole('article', { name: 'web' });
    await card.getByRole('button', { name: 'Ask' }).click();
    await card.getByRole('region', { name: 'Answer of port 8080' }).getByText(`Hello from ${name}`).waitFor();
    await card.getByText(`kubectl port-forward -n ${SPACE} pod/${name} 8080`).waitFor();
  });

  const world = (): RealWorld => ({ cluster, space, page, problems: browser.problems });
  viewFlows(world);
  actionFlows(world);

  test('an edit names the conflicting manager, takes over, and real pods follow', async () => {
    await show(`#/object/deployments.apps/${SPACE}/web?tab=yaml&edit=1`);
    await page.locator('.cm-line', { hasText: /^ {2}replicas: 1$/ }).click();
    await page.keyboard.press('End');
    await page.keyboard.press('Backspace');
    await page.keyboard.type('2');
    await press('Try on the server', page.getByText('Other managers set these fields:'));
    await page.getByText('.spec.replicas', { exact: true }).waitFor();
    await page.getByLabel('Take these fields over').check();
    await press('Try on the server', page.locator('.object-changes ins', { hasText: 'replicas: 2' }));
    await press('Apply', page.locator('.object-yaml').getByText('replicas: 2').first());
    await space.kubectl('rollout status deployment/web --timeout=120s');
    await linksAtRest();
    await show(`#/object/deployments.apps/${SPACE}/web`);
    await page.getByRole('heading', { name: 'Pods (2)' }).waitFor();
  });

  test('a Deployment is rolled back, and its pods run the former image', async () => {
    await space.kubectl(`set image deployment/web web=${images.test2}`);
    await space.kubectl('rollout status deployment/web --timeout=120s');
    await linksAtRest();
    await page.getByRole('button', { name: 'Roll back' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.locator('del', { hasText: images.test2 }).waitFor();
    await dialog.getByRole('button', { name: 'Roll back' }).click();
    await dialog.waitFor({ state: 'detached' });
    await space.kubectl('rollout status deployment/web --timeout=120s');
    const image = await space.kubectl('get deployment web -o jsonpath={.spec.template.spec.containers[0].image}');
    assert.equal(image, images.test);
  });

  test('a node is drained as a disruption budget allows, and uncordoned', async () => {
    await space.kubectl('create poddisruptionbudget keep --selector=app=web --min-available=2');
    await space.until('the budget counts', async () =>
      (await space.kubectl('get pdb keep -o jsonpath={.status.currentHealthy}')) === '2' ? true : undefined,
    );
    const node = (await space.kubectl('get nodes -o jsonpath={.items[0].metadata.name}')).trim();
    await show(`#/object/nodes/-/${node}`);
    await page.getByRole('button', { name: 'Drain', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Evict 1 pod that no controller brings back').check();
    await dialog.getByRole('button', { name: 'Drain' }).click();
    const line = (name: RegExp) => dialog.getByRole('listitem').filter({ hasText: name });
    await line(/talk/).getByText('gone').waitFor();
    await line(/web-/)
      .getByText(/refused for now, asked again:.*disruption budget.*keep/)
      .first()
      .waitFor();
    await space.kubectl('delete pdb keep');
    await dialog.getByText('The node is drained.').waitFor({ timeout: 120_000 });
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Uncordon' }).click();
    await dialog.getByRole('button', { name: 'Uncordon' }).click();
    await space.kubectl('rollout status deployment/web --timeout=120s');
  });
});
