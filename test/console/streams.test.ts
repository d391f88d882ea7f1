/** A browser whose connections break, as Chromium's do when an address of its machine is added or removed. */
import assert from 'node:assert/strict';
import { connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { build } from '../../tools/build.ts';
import { repositoryRoot } from '../../tools/repository.ts';
import { type Cluster, Pods } from '../../src/testing/index.ts';
import { openBrowser, skipBrowser } from './browser.ts';
import { goTo, startPodWorld } from './pod-world.ts';

interface Wire extends AsyncDisposable {
  readonly origin: string;
  /** Ends all connections. New ones are accepted. */
  cut(): void;
}

/** A proxy between the browser and the cluster's port. */
async function wireTo(port: number): Promise<Wire> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('close', () => (sockets.delete(socket), client.destroy(), upstream.destroy()));
      socket.on('error', () => undefined);
    }
    client.pipe(upstream).pipe(client);
  });
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port: own } = server.address() as { port: number };
  return {
    origin: `https://127.0.0.1:${own}`,
    cut,
    async [Symbol.asyncDispose]() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Collects all texts about lost connections that the page shows, however briefly. */
async function watchForLosses(page: Page): Promise<() => Promise<string[]>> {
  await page.evaluate(() => {
    const seen: string[] = [];
    Object.assign(window, { seen });
    new MutationObserver(() => {
      const found = /[^.]*(?:onnection lost|broke off|does not answer)[^.]*/.exec(document.body.innerText)?.[0];
      if (found !== undefined) seen.push(found);
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  return () => page.evaluate(() => (window as unknown as { seen: string[] }).seen);
}

async function addPod(cluster: Cluster, name: string, labels = '{}'): Promise<void> {
  await cluster.apply(`
apiVersion: v1
kind: Pod
metadata: {name: ${name}, namespace: default, labels: ${labels}}
spec: {containers: [{name: main, image: 'quiet:1'}]}
`);
}

test(
  'lists, objects and logs continue after broken connections, without a visible error',
  { skip: skipBrowser },
  async () => {
    await build(repositoryRoot);
    await using cluster = await startPodWorld();
    const link = new URL(await cluster.console());
    await using wire = await wireTo(Number(link.port));
    await using browser = await openBrowser();
    const { page } = browser;
    page.setDefaultTimeout(120_000); // for a busy machine
    await goTo(page, link.href.replace(link.origin, wire.origin), '#/list/pods?ns=default');
    await page.getByText('5 objects').waitFor();
    await addPod(cluster, 'added-before');
    await page.locator('.grid .row').getByText('added-before').waitFor();
    const losses = await watchForLosses(page);
    const lists: URL[] = [];
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (url.pathname.endsWith('/namespaces/default/pods')) lists.push(url);
    });
    const { metadata } = cluster.peek(Pods).find((pod) => pod.metadata.name === 'added-before')!;
    wire.cut();
    await addPod(cluster, 'added-after');
    await page.locator('.grid .row').getByText('added-after').waitFor();
    await page.getByText('7 objects').waitFor();
    assert.ok(lists.length > 0);
    for (const { searchParams } of lists) {
      assert.equal(searchParams.get('watch'), '1', 'the list is not read again');
      assert.ok(
        Number(searchParams.get('resourceVersion')) >= Number(metadata.resourceVersion),
        'from where it broke off',
      );
    }
    assert.deepEqual(await losses(), []);

    await page.evaluate(() => (location.hash = '#/object/pods/default/added-before'));
    await page.locator('.object-facts').waitFor();
    wire.cut();
    await addPod(cluster, 'added-before', "{seen: 'yes'}");
    await page.getByText('seen=yes').waitFor();
    assert.deepEqual(await losses(), []);

    // No line of the log is missing, and none is repeated.
    await page.evaluate(() => (location.hash = '#/logs/pods/default/talk?container=main'));
    const ticks = async (): Promise<number[]> =>
      (await page.locator('.logs-pane').innerText()).match(/(?<=tick )\d+/g)?.map(Number) ?? [];
    const lastTick = async (): Promise<number> => (await ticks()).at(-1) ?? 0;
    await page.waitForFunction(() => /tick \d+/.test(document.querySelector('.logs-pane')?.textContent ?? ''));
    const before = await lastTick();
    wire.cut();
    for (let tries = 0; (await lastTick()) < before + 10 && tries < 200; tries++) await page.waitForTimeout(100);
    const seen = (await ticks()).filter((tick) => tick >= before);
    assert.ok(seen.length >= 10, `from ${before}: ${seen.join()}`);
    assert.deepEqual(
      seen,
      seen.map((_, index) => seen[0]! + index),
    );
    assert.ok(seen[0]! <= before + 1);
    assert.deepEqual(await losses(), []);
  },
);

test('a terminal whose connection broke shows it, and Enter opens it again', { skip: skipBrowser }, async () => {
  await build(repositoryRoot);
  await using cluster = await startPodWorld();
  const link = new URL(await cluster.console());
  await using wire = await wireTo(Number(link.port));
  await using browser = await openBrowser();
  const { page } = browser;
  page.setDefaultTimeout(120_000); // for a busy machine
  await goTo(page, link.href.replace(link.origin, wire.origin), '#/shell/pods/default/talk?container=main');
  await page.getByText('The session has ended with exit code 3.').waitFor();
  await page.getByLabel('Shell', { exact: true }).selectOption('attach');
  const rows = page.locator('.xterm-rows');
  await rows
    .getByText(/^tick \d+/)
    .first()
    .waitFor();
  wire.cut();
  const status = page.getByRole('status');
  await status.getByText('The connection was lost. How the command ended is not known.').waitFor();
  await page.getByText('Enter opens another one').waitFor();
  await page.locator('.shell-terminal textarea').focus();
  await page.keyboard.press('x');
  await page.keyboard.press('Enter');
  await status.getByText('open', { exact: true }).waitFor();
  await rows
    .getByText(/^tick \d+/)
    .first()
    .waitFor();
});
