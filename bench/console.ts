// `npm run bench:console`: the console in a real Chromium with an API server with many pods. It measures the time until the list
// of all pods is usable, the smoothness of scrolling the list and the map of nodes while pods change, the tab's memory, and the
// server's cost of an open console.
//
//   node bench/console.ts [--pods 50000] [--nodes 5000] [--changes 500]
import { parseArgs } from 'node:util';

import { Cluster, Nodes, Pods } from '../src/testing/index.ts';
import { openBrowser } from '../test/console/browser.ts';
import { build } from '../tools/build.ts';
import { repositoryRoot } from '../tools/repository.ts';
import { BareTab } from './console/bare-tab.ts';

const { values } = parseArgs({
  options: {
    pods: { type: 'string', default: '50000' },
    nodes: { type: 'string', default: '5000' },
    changes: { type: 'string', default: '500' },
  },
});
const podCount = Number(values.pods);
const nodeCount = Number(values.nodes);
const changesPerSecond = Number(values.changes);

await build(repositoryRoot);
await using cluster = await Cluster.start({ clock: 'real', nodes: 0, controllers: [], scheduler: false });
const pods = cluster.client.resource(Pods);
await cluster.client.raw({
  method: 'POST',
  path: '/api/v1/namespaces/default/serviceaccounts',
  body: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } },
});
await createNodes();
await createPods();
const beforeMb = memoryMb();
await using browser = await openBrowser();
const { page } = browser;
const link = await cluster.console();
await page.goto(link);
await page.locator('#content').waitFor();
await page.goto('about:blank');

// as for a user who opens a bookmark
const startMs = performance.now();
await page.goto(`${new URL(link).origin}/console/#/list/pods`, { waitUntil: 'commit' });
await opened();

async function opened(): Promise<void> {
  await page.locator('.grid .row').first().waitFor();
  print('usable after', `${Math.round(performance.now() - startMs)} ms`);
  await page.locator('.liveness.live').waitFor({ timeout: 120_000 });
  print('all rows after', `${Math.round(performance.now() - startMs)} ms`);
}

const changing = new AbortController();
const changes = changePods(changing.signal);
print('frames a second at rest', await frames('.grid', 0));
print(`scrolling with ${changesPerSecond} changes a second`, await frames('.grid', 120));

const mapStartMs = performance.now();
await page.evaluate(`location.hash = '#/topology/nodes?group=zone'`);
await page.locator('.topology .liveness.live').waitFor({ timeout: 120_000 });
print('map: all tiles after', `${Math.round(performance.now() - mapStartMs)} ms`);
for (const size of [4, 11, 24]) {
  await page.evaluate(`location.hash = '#/topology/nodes?group=zone&size=${size}'`);
  await page.waitForTimeout(500);
  const what = `map: scrolling, tiles of ${size} pixels, changes as above`;
  print(what, await frames('.topology-map', 120));
}
await page.goto('about:blank');
await printMemory();
changing.abort();
print('changes made a second', `${(await changes).toFixed(0)}`);

await page.goto(`${new URL(link).origin}/console/#/`);
await page.locator('#content').waitFor();
const shares: Record<string, number> = { overview: await cpuShare() };
for (const at of ['list/pods', 'charts/pods', 'charts/api']) {
  await page.evaluate(`location.hash = ${JSON.stringify(`#/${at}`)}`);
  if (at === 'list/pods') await page.locator('.liveness.live').waitFor({ timeout: 120_000 });
  shares[at] = await cpuShare();
}
const withCharts = memoryMb();
await page.goto('about:blank');
const closed = await cpuShare();
for (const [at, share] of Object.entries(shares))
  print(
    `server at rest, ${at} open`,
    `${((share - closed) * 100).toFixed(1)} % of a core (${(share * 100).toFixed(1)} - ${(closed * 100).toFixed(1)})`,
  );
print('memory of the server, charts collected', `${withCharts} MB; before the console was opened ${beforeMb} MB`);

async function createPods(): Promise<void> {
  for (let made = 0; made < podCount; made += 500)
    await Promise.all(
      Array.from({ length: Math.min(500, podCount - made) }, (_, index) => pods.create(podNamed(made + index))),
    );
}

async function createNodes(): Promise<void> {
  const nodes = cluster.client.resource(Nodes);
  for (let made = 0; made < nodeCount; made += 500)
    await Promise.all(
      Array.from({ length: Math.min(500, nodeCount - made) }, (_, index) => {
        const labels = { 'topology.kubernetes.io/zone': `zone-${(made + index) % 3}` };
        return nodes.create({ metadata: { name: `node-${made + index}`, labels } });
      }),
    );
}

function podNamed(index: number) {
  const labels = { app: `app-${index % 100}`, 'pod-template-hash': '7d4b9c6f5' };
  const metadata = { name: `app-${index % 100}-7d4b9c6f5-${index}`, namespace: 'default', labels };
  return {
    metadata,
    spec: { nodeName: `node-${index % nodeCount}`, containers: [{ name: 'main', image: 'registry.example/app:1' }] },
  };
}

async function changePods(signal: AbortSignal): Promise<number> {
  const beganMs = performance.now();
  let made = 0;
  while (!signal.aborted) {
    const round = performance.now();
    const some = Array.from(
      { length: changesPerSecond / 10 },
      () => podNamed(Math.floor(Math.random() * podCount)).metadata.name,
    );
    await Promise.all(some.map((name) => changePod(name, made++)));
    await new Promise((done) => setTimeout(done, Math.max(0, 100 - (performance.now() - round))));
  }
  return made / ((performance.now() - beganMs) / 1000);
}

async function changePod(name: string, turn: number): Promise<void> {
  const phase = turn % 2 === 0 ? 'Running' : 'Failed';
  await cluster.client.raw({
    method: 'PATCH',
    path: `/api/v1/namespaces/default/pods/${name}/status`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { status: { phase } },
  });
}

/** The frames drawn per second, over five seconds, and the number of frames that took longer than 50 ms. */
async function frames(scrolled: string, pixels: number): Promise<string> {
  return (await page.evaluate(`new Promise((done) => {
    const grid = document.querySelector('${scrolled}');
    const began = performance.now();
    const gaps = [];
    let last = began;
    const frame = (now) => {
      gaps.push(now - last);
      last = now;
      grid.scrollTop += ${pixels};
      if (now - began < 5000) requestAnimationFrame(frame);
      else done((gaps.length / (now - began) * 1000).toFixed(0) + ' frames a second, ' + gaps.filter((gap) => gap > 50).length + ' took over 50 ms');
    };
    requestAnimationFrame(frame);
  })`)) as string;
}

/** Resident memory, after a garbage collection when one can be requested. */
function memoryMb(): string {
  globalThis.gc?.();
  return (process.memoryUsage().rss / 2 ** 20).toFixed(0);
}

async function cpuShare(): Promise<number> {
  await new Promise((done) => setTimeout(done, 2000));
  const before = process.cpuUsage();
  const beganMs = performance.now();
  await new Promise((done) => setTimeout(done, 15_000));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / (performance.now() - beganMs);
}

/** Memory of a user's tab with the list, and then with the map, while pods change. */
async function printMemory(): Promise<void> {
  await using tab = await BareTab.open(await cluster.console());
  const measure = async (what: string): Promise<void> => {
    const now = await tab.memory({ collects: false });
    const { process, heap } = await tab.memory({ collects: true });
    const text = `${megabytes(process)}, ${megabytes(heap)} of it objects; ${megabytes(now.process)} before a collection`;
    print(`memory of the tab, ${what}`, text);
  };
  await tab.until(`document.querySelector('#content') !== null`);
  await measure('overview');
  for (const [what, at, view] of [
    ['list of all pods', '#/list/pods', 'section.list'],
    ['map of all pods', '#/topology/nodes?group=zone', '.topology'],
  ] as const) {
    await tab.evaluate(`location.hash = '${at}'`);
    await tab.until(`document.querySelector('${view} .liveness.live') !== null`);
    await measure(what);
  }
}

function megabytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MB`;
}

function print(what: string, figure: string): void {
  console.log(`${what.padEnd(44)} ${figure}`);
}
