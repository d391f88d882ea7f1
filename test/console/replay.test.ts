/** A replay file, opened by the command and navigated in the browser. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { build } from '../../tools/build.ts';
import { repositoryRoot } from '../../tools/repository.ts';
import { accessibilityProblems } from './axe.ts';
import { openBrowser, skipBrowser } from './browser.ts';
import { goTo } from './pod-world.ts';

const web = (replicas: number): string => `
  - apply:
      apiVersion: apps/v1
      kind: Deployment
      metadata: { name: web }
      spec:
        replicas: ${replicas}
        selector: { matchLabels: { app: web } }
        template:
          metadata: { labels: { app: web } }
          spec: { containers: [{ name: web, image: "web:1" }] }
  - wait: { for: deployment/web, until: .status.availableReplicas=${replicas} }`;

const SCENARIO = `
seed: 7
name: Pods of a lost machine are back within a minute
nodes: 3
steps:${web(2)}
  - advance: 20s${web(5)}
  - advance: 20s
  - crash: node/node-1
  - wait: { for: node/node-1, until: Ready=Unknown }
  - wait: { for: deployment/web, until: .status.availableReplicas=5, within: 1m }
  - rest: 1m
`;

const OTHER = `
name: Another run
nodes: 2
steps:
  - apply: { apiVersion: v1, kind: ConfigMap, metadata: { name: turn }, data: { at: first } }
  - advance: 5s
  - patch: { object: configmap/turn, merge: { data: { at: second } } }
  - advance: 5s
`;

interface Command extends AsyncDisposable {
  readonly child: ChildProcess;
  /** The next line that matches. */
  line(pattern: RegExp): Promise<string>;
}

function replayCommand(file: string): Command {
  const child = spawn(join(repositoryRoot, 'bin/keelson'), ['sim', 'replay', '--console', '--print', file]);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    child,
    async line(pattern) {
      for (;;) {
        const { value, done } = await lines.next();
        assert.notEqual(done, true, `no line like ${pattern}`);
        if (pattern.test(value as string)) return value as string;
      }
    },
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit');
      child.kill('SIGINT');
      if (child.exitCode === null) await ended;
    },
  };
}

test(
  'a replay file is opened in the console, navigated, and continued from its failure',
  { skip: skipBrowser },
  async () => {
    await build(repositoryRoot);
    const folder = mkdtempSync(join(tmpdir(), 'keelson-replay-'));
    try {
      const file = join(folder, 'lost.seed-7.replay.yaml');
      writeFileSync(file, SCENARIO);
      await using command = replayCommand(file);
      assert.match(await command.line(/^FAILED/), /\(seed 7\), step 9 .*availableReplicas=5/);
      await using browser = await openBrowser();
      const { page, problems } = browser;
      page.setDefaultTimeout(120_000); // for a busy machine
      await goTo(page, await command.line(/^https:/), '#/list/pods?ns=default');
      const bar = page.getByRole('region', { name: 'Replay' });
      await bar.getByText('Replay: Pods of a lost machine are back within a minute (seed 7)').waitFor();
      await bar
        .locator('summary')
        .getByText(/deployment default\/web is not .*availableReplicas=5 after 1m0s/)
        .waitFor();
      const steps = bar.getByLabel('Step of the run');
      const shown = () => steps.evaluate((element) => (element as HTMLSelectElement).selectedOptions[0]?.textContent);
      assert.match((await shown()) ?? '', /step 9 · wait/, 'it stands at the failure');
      await page.locator('.replay-ticks .failed').waitFor();

      // Selects the moment of a step, for every view.
      await steps.selectOption({ index: 2 });
      await page.getByText('2 objects').waitFor();
      assert.match((await shown()) ?? '', /step 3 · advance: 20s/);
      await bar.getByRole('button', { name: 'Next step' }).click();
      await bar.getByRole('button', { name: 'Next step' }).click();
      await bar.getByRole('button', { name: 'Next step' }).click();
      await page.getByText('5 objects').waitFor();
      assert.match((await shown()) ?? '', /step 6 · advance: 20s/);
      await page.evaluate(() => (location.hash = location.hash.replace('list/pods', 'list/nodes')));
      await page.getByText('3 objects').waitFor();
      assert.equal(await page.locator('.grid .row').getByText('NotReady').count(), 0);
      await bar.getByRole('button', { name: 'Next step' }).click();
      await bar.getByText(/^Note: node-1 has no power/).waitFor();
      assert.deepEqual(await accessibilityProblems(page), []);
      const slider = page.getByRole('slider', { name: 'Moment' });
      await slider.focus();
      await page.keyboard.press('Home');
      await page.waitForURL(/at=2026-01-01T00%3A00%3A00/);
      await page.getByText('3 objects').waitFor();

      // Selects the failure, with its whole message and its explanation.
      await bar.getByRole('button', { name: 'failed at step 9' }).click();
      await page.locator('.grid .row').getByText('NotReady').first().waitFor();
      assert.doesNotMatch(page.url(), /at=/, 'the end of the run is the present');
      await bar.locator('summary').click();
      await bar.locator('pre').getByText('NotReady').first().waitFor();
      await page.evaluate(() => (location.hash = '#/object/deployments.apps/default/web'));
      await page.locator('.object-why').waitFor();

      // Time stands until it is run on: five minutes later the pods have moved.
      const simulation = page.getByRole('region', { name: 'Simulation' });
      await simulation.getByText('paused').waitFor();
      await simulation.getByLabel('Size of a step').selectOption('10 min');
      await simulation.getByRole('button', { name: 'Step' }).click();
      await page.evaluate(() => (location.hash = '#/list/deployments.apps?ns=default'));
      await page.locator('.grid .row').getByText('5/5').waitFor();
      assert.deepEqual(problems, []);

      // An invalid file and a valid one are chosen on the page; a separate console shows the second.
      const choose = (text: string): Promise<void> =>
        simulation
          .getByLabel('File of a scenario or a replay')
          .setInputFiles({ name: 'run.yaml', mimeType: 'application/yaml', buffer: Buffer.from(text) });
      await choose('steps: <script>');
      await simulation.getByText('The file cannot be opened: line 1: steps: is no list').waitFor();
      await choose(OTHER);
      await simulation.getByText('Another run: passed').waitFor();
      assert.deepEqual(await accessibilityProblems(page), []);
      const { port } = new URL(page.url());
      await simulation.getByRole('button', { name: 'Show it' }).click();
      await page.waitForURL((url) => url.port !== port);
      await bar.getByText('Replay: Another run (seed 1)').waitFor();
      await page.evaluate(() => (location.hash = '#/object/configmaps/default/turn?tab=yaml'));
      await page.locator('.object-yaml').getByText('second').first().waitFor();
      await steps.selectOption({ index: 1 });
      await page.locator('.object-yaml').getByText('first').first().waitFor();
      await page.goBack();

      // Another link, for another browser.
      command.child.stdin!.write('\n');
      assert.match(await command.line(/^https:/), /#code=/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);
