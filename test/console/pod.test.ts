import assert from 'node:assert/strict';
import { test } from 'node:test';
import { build } from '../../tools/build.ts';
import { repositoryRoot } from '../../tools/repository.ts';
import { accessibilityProblems } from './axe.ts';
import { openBrowser, skipBrowser } from './browser.ts';
import { goTo, startPodWorld } from './pod-world.ts';

test(
  'a pod shows its containers, their resource use, and the timeline of its start',
  { skip: skipBrowser },
  async () => {
    await build(repositoryRoot);
    await using cluster = await startPodWorld();
    await using browser = await openBrowser();
    const { page, problems } = browser;
    await goTo(page, await cluster.console(), '#/list/pods?ns=default&q=talk');
    await page.locator('.grid .row').getByText('talk').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('p');
    const card = (name: string) => page.getByRole('article', { name });
    await card('prepare').getByText('init container').waitFor();
    await card('prepare').getByText('exit code 0').waitFor();
    await card('main').getByText('Running').waitFor();
    await card('main').getByText('cpu 100m, at most 1 · memory 64Mi, at most 128Mi').waitFor();
    await card('main').getByText('GET :8080/ready, every 10 s (1 s at most), 3 in a row count').waitFor();
    await card('side').getByText('exit code 3').first().waitFor();
    await card('side').getByText('Last end').waitFor();
    await card('main')
      .getByRole('img', { name: /Processor: 150m of 1/ })
      .waitFor();
    const start = page.getByRole('region', { name: 'Start' });
    for (const step of ['create', 'filter and score', 'syncPod', 'RunPodSandbox'])
      await start.getByText(step, { exact: false }).first().waitFor();
    assert.deepEqual(await accessibilityProblems(page), []);
    // The kubelet's own events: a container ends, the runtime reports it, the worker acts and delays the restart.
    await page.locator('.pod-station[aria-current="step"]').waitFor();
    const events = page.getByRole('region', { name: 'Newest events of the kubelet' });
    await events.getByText('ContainerDied').first().waitFor({ timeout: 60_000 });
    await events
      .getByText(/sync \d+\.\d ms/)
      .first()
      .waitFor();
    await page.getByText(/side is started again after \d+ s:/).waitFor();
    await page.getByText(/readiness: success/).waitFor();
    assert.deepEqual(await accessibilityProblems(page), []);
    await card('main').getByRole('button', { name: 'Ask' }).click();
    await card('main').getByRole('region', { name: 'Answer of port 8080' }).getByText('<h1>hello</h1>').waitFor();
    await card('main').getByText('kubectl port-forward -n default pod/talk 8080').waitFor();
    assert.deepEqual(await accessibilityProblems(page), []);
    await card('main').getByRole('link', { name: 'Logs' }).click();
    await page
      .locator('.logs-pane')
      .getByText(/tick \d+/)
      .first()
      .waitFor();
    assert.match(page.url(), /container=main/);
    // A pod has no metrics before it was measured.
    assert.deepEqual(
      problems.filter((text) => !/404 .*\/apis\/metrics\.k8s\.io\//.test(text)),
      [],
    );
  },
);
