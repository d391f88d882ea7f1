/** The life of a chart: installed, tested, upgraded, rolled back, uninstalled, waiting for each step. */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { must } from './life.ts';
import { chart } from './projects/chart.ts';
import type { World } from './world-fixture.ts';

/** Runs all steps; fails for any refusal and for any warning. */
export async function leadChart(world: World): Promise<void> {
  for (const [name, text] of Object.entries(chart)) {
    const path = join(world.folder, 'cache-chart', name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  const helm = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await world.helm([...args, '--namespace=charts']);
    assert.deepEqual([code, /warning/i.test(stderr)], [0, false], `helm ${args.join(' ')}: ${stdout}${stderr}`);
    return stdout;
  };
  const replicas = () => must(world, ['get', 'statefulset', 'main', '-n', 'charts', '-o', 'jsonpath={.spec.replicas}']);
  await helm('install', 'main', 'cache-chart', '--create-namespace', '--wait', '--timeout=120s');
  await helm('test', 'main', '--timeout=120s');
  await helm('upgrade', 'main', 'cache-chart', '--set=replicas=2,image=cache:2', '--wait', '--timeout=120s');
  assert.equal(await replicas(), '2');
  await helm('rollback', 'main', '1', '--wait', '--timeout=120s');
  assert.equal(await replicas(), '1');
  assert.match(await helm('history', 'main'), /3\s.*deployed\s.*Rollback to 1/);
  await helm('uninstall', 'main', '--wait', '--timeout=120s');
  assert.equal(await must(world, ['get', 'all,pdb,snapshots.chart.world.example', '-n', 'charts', '-o', 'name']), '');
  await must(world, ['delete', 'crd', 'snapshots.chart.world.example', '--timeout=60s']);
  await must(world, ['delete', 'namespace', 'charts', '--timeout=60s']);
}
