/** Faults made by hand in `keelson up --simulate` are saved as a scenario, and opened again as a file in the same console. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { build } from '../../tools/build.ts';
import { repositoryRoot } from '../../tools/repository.ts';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { keelson } from '../integration/cluster-fixture.ts';
import { openBrowser, skipBrowser } from './browser.ts';
import { goTo } from './pod-world.ts';

async function startSimulation(folder: string): Promise<AsyncDisposable & { readonly dataDir: string }> {
  const dataDir = join(folder, 'data');
  const place = ['--data-dir', dataDir];
  const simulated = ['--simulate', '--nodes', '2', '--store', 'memory', '--speed', '10'];
  const record = ['--record', join(folder, 'recorded.yaml')];
  const port = ['--https-port', String(await freePort())];
  const { code, stdout, stderr } = await keelson(['up', ...simulated, ...record, ...place, ...port, '--detach']);
  assert.equal(code, 0, `${stdout}${stderr}`);
  return {
    dataDir,
    async [Symbol.asyncDispose]() {
      const down = await keelson(['down', '--delete-data', ...place]);
      assert.equal(down.code, 0, `${down.stdout}${down.stderr}`);
    },
  };
}

test(
  'faults made by hand are saved as a scenario, and opening its file shows them again',
  { skip: skipBrowser },
  async () => {
    await build(repositoryRoot);
    const folder = mkdtempSync(join(tmpdir(), 'keelson-recorded-'));
    try {
      await using cluster = await startSimulation(folder);
      await using browser = await openBrowser();
      const { page, problems } = browser;
      page.setDefaultTimeout(120_000); // for a busy machine
      const { stdout: link } = await keelson(['console', '--print', '--data-dir', cluster.dataDir]);
      await goTo(page, link.trim(), '#/object/nodes/-/node-1');
      const faults = page.getByRole('region', { name: 'Faults of this simulated machine' });
      await faults.getByRole('button', { name: 'Cut the power' }).click();
      await faults.getByText('no power').waitFor();
      await faults.getByRole('button', { name: 'Start' }).click();
      await faults.getByText('nothing is broken').waitFor();

      await page.keyboard.press('T');
      const bar = page.getByRole('region', { name: 'Simulation' });
      const [saved] = await Promise.all([
        page.waitForEvent('download'),
        bar.getByRole('button', { name: 'Save as scenario' }).click(),
      ]);
      const file = await saved.path();
      assert.match(readFileSync(file, 'utf8'), /crash: node\/node-1[^]*start: node\/node-1/);
      assert.deepEqual(problems, []);

      await bar.getByLabel('File of a scenario or a replay').setInputFiles(file);
      const { port } = new URL(page.url());
      await bar.getByRole('button', { name: 'Show it' }).click();
      await page.waitForURL((url) => url.port !== port);
      const replay = page.getByRole('region', { name: 'Replay' });
      const choice = replay.getByLabel('Step of the run');
      await choice.waitFor();
      const steps = (await choice.locator('option').allTextContents()).join('\n');
      assert.match(steps, /crash: node\/node-1[^]*start: node\/node-1/);
      const crashed = steps.split('\n').findIndex((step) => step.includes('crash: node/node-1'));
      await page.evaluate(() => (location.hash = '#/list/nodes'));
      await page.getByText('2 objects').waitFor();
      await choice.selectOption({ index: crashed });
      await page.waitForURL(/at=/);
      await replay.getByText(/^Note: node-1 has no power/).waitFor();

      // The simulation and its session continue.
      await goTo(page, link.trim().replace(/#.*/, ''), '#/list/nodes');
      await page.getByText('2 objects').waitFor();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
