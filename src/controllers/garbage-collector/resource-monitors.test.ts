import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onAbort } from '../../base/abort.ts';
import type { Client } from '../../client/client.ts';
import { createInformerFactory } from '../../client/informer-factory.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { OwnerGraph } from './graph.ts';
import { createResourceMonitors } from './resource-monitors.ts';

/** A client of a server that serves so many custom resources; how many lists are open. */
function clientOf(served: { count: number }): { readonly client: Client; readonly lists: { open: number } } {
  const lists = { open: 0 };
  const wait = (signal: AbortSignal | undefined): Promise<never> => {
    lists.open++;
    return new Promise((_, reject) =>
      onAbort(signal, () => {
        lists.open--;
        reject(signal?.reason as Error);
      }),
    );
  };
  const resources = (): object[] =>
    Array.from({ length: served.count }, (_, i) => ({
      resource: `things${i}`,
      responseKind: { group: 'g.example.com', version: 'v1', kind: `Thing${i}` },
      scope: 'Namespaced',
      verbs: ['delete', 'list', 'watch'],
    }));
  const client = {
    raw: async ({ path }: { readonly path: string }) => {
      const group = { metadata: { name: 'g.example.com' }, versions: [{ version: 'v1', resources: resources() }] };
      const items = path === '/apis' ? [group] : [];
      return { status: 200, body: Buffer.from(JSON.stringify({ kind: 'APIGroupDiscoveryList', items })) };
    },
    resource: () => ({
      list: (options: { readonly signal?: AbortSignal }) => wait(options.signal),
      watch: (options: { readonly signal?: AbortSignal }) => wait(options.signal),
    }),
  } as unknown as Client;
  return { client, lists };
}

test('monitors of hundreds of resources start and stop a few in a turn', async () => {
  const platform = createSimPlatform();
  const { clock } = platform;
  const served = { count: 300 };
  const { client, lists } = clientOf(served);
  let before = 0;
  let most = 0;
  const yieldTurn = clock.yield.bind(clock);
  clock.yield = async () => {
    most = Math.max(most, Math.abs(lists.open - before));
    before = lists.open;
    await yieldTurn();
  };
  const informers = createInformerFactory({ ...platform, client });
  const graph = new OwnerGraph({
    attemptToDelete: () => undefined,
    attemptToOrphan: () => undefined,
    invalidReference: () => undefined,
  });
  const monitors = createResourceMonitors({ platform, informers, client } as never, client, graph);
  const ended = new AbortController();
  for (const count of [300, 0]) {
    served.count = count;
    const synced = monitors.sync(ended.signal);
    await clock.settle();
    await clock.advance(31_000);
    await synced;
    assert.equal(lists.open, count);
  }
  assert.ok(most > 0 && most <= 16, `${most} in one turn`);
  ended.abort();
});
