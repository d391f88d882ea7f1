/** The transfer of routes from a server to the data plane of a joined node, and of reports back. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Principal } from '../../../api/transport.ts';
import type { RequestScope } from '../../../apiserver/request-scope.ts';
import { createMemoryDuplexPair } from '../../../client/memory-duplex.ts';
import { readAnswerHead } from '../../../client/upgrade-head.ts';
import type { PublishedSnapshot } from '../../../gateway/gateway-controller.ts';
import type { DataPlaneReport } from '../../../gateway/snapshot/snapshot.ts';
import { createSimPlatform } from '../../../platform/sim/sim-platform.ts';
import type { Duplex } from '../../../platform/streams.ts';
import { JoinedRoutes } from './joined-routes.ts';
import { NO_ROUTES, NODE_ROUTES_PROTOCOL, SILENCE_MS } from './protocol.ts';
import { RouteFeed } from './route-feed.ts';

const principal = (name: string, groups: readonly string[] = ['system:nodes']): Principal => ({ name, groups });
const snapshot = (...ports: number[]): PublishedSnapshot => ({
  pieces: ['{"listeners":', `[${ports.join(',')}]}`],
  ports: new Set(ports),
});
const report = (...ports: number[]): DataPlaneReport => ({
  applied: 1,
  listeners: ports.map((port) => ({ port })),
  problems: [],
});

function request(feed: RouteFeed, user: Principal, upgrade = NODE_ROUTES_PROTOCOL) {
  return feed.route().serve({ user, request: { wantsUpgrade: true, headers: { upgrade } } } as unknown as RequestScope);
}

/** A server with one node `a`, which `follow` starts. */
function world(nodeUser = 'system:node:a') {
  const platform = createSimPlatform();
  const feed = new RouteFeed(platform);
  const serves = new Map<string, 'yes' | 'no' | 'unknown node'>([['a', 'yes']]);
  const taken: [string, DataPlaneReport | undefined][] = [];
  const left: string[] = [];
  feed.useReports({
    serves: (name) => serves.get(name) ?? 'unknown node',
    take: (name, one) => void taken.push([name, one]),
    leave: (name) => void left.push(name),
  });
  const connections: { readonly server: Duplex; readonly node: Duplex }[] = [];
  const network = { isUp: true };
  const upgrade = async (): Promise<Duplex> => {
    if (!network.isUp) throw new Error('no route to host');
    const response = await request(feed, principal(nodeUser));
    assert.equal(response.kind, 'upgrade');
    const [server, node] = createMemoryDuplexPair();
    connections.push({ server, node });
    void (response.kind === 'upgrade' && response.accept(server));
    return (await readAnswerHead(node)).socket;
  };
  const published: PublishedSnapshot[] = [];
  const opened: ((one: DataPlaneReport | undefined) => void)[] = [];
  const state = { wasLeft: false, opening: Promise.resolve() };
  const dataPlane = {
    wasLeft: async () => state.wasLeft,
    open: async (onReport: (one: DataPlaneReport | undefined) => void) => {
      opened.push(onReport);
      await state.opening;
      return { publish: (one: PublishedSnapshot) => void published.push(one), run: () => Promise.resolve() };
    },
  };
  const end = new AbortController();
  const routes = new JoinedRoutes({ platform, client: { upgrade }, dataPlane });
  const pass = (ms = 20) => platform.clock.advance(ms);
  return { platform, feed, serves, taken, left, connections, network, published, opened, state, end, routes, pass };
}

const textOf = ({ pieces }: PublishedSnapshot): string => pieces.join('');

test('a node receives the current snapshot and all later ones, and the server attributes its reports to it', async () => {
  const { feed, taken, published, opened, end, routes, pass } = world();
  feed.publish(snapshot(80));
  const running = routes.run(end.signal);
  await pass();
  assert.deepEqual(published.map(textOf), ['{"listeners":[80]}']);
  opened[0]!(report(80));
  await pass();
  feed.publish(snapshot(80, 443));
  await pass();
  assert.deepEqual(published.map(textOf), ['{"listeners":[80]}', '{"listeners":[80,443]}']);
  assert.deepEqual(
    published.map(({ ports }) => [...ports]),
    [[80], [80, 443]],
  );
  opened[0]!(report(80, 443, 22));
  opened[0]!(undefined);
  await pass();
  assert.deepEqual(taken.at(0), ['a', report(80)]);
  assert.deepEqual(taken.at(-1), ['a', undefined]);
  assert.equal(opened.length, 1);
  assert.ok(!JSON.stringify(taken).includes('22'), 'ports of no snapshot are not the node’s to claim');
  end.abort();
  await pass();
  await running;
});

test('no data plane is opened on a node that has nothing to serve, unless an earlier start left one', async () => {
  for (const wasLeft of [false, true]) {
    const { feed, taken, published, opened, state, end, routes, pass } = world();
    state.wasLeft = wasLeft;
    feed.publish(NO_ROUTES);
    void routes.run(end.signal);
    await pass();
    assert.equal(opened.length, wasLeft ? 1 : 0);
    assert.deepEqual(
      published.map(({ ports }) => ports.size),
      wasLeft ? [0] : [],
    );
    assert.deepEqual(taken, wasLeft ? [] : [['a', undefined]]);
    assert.deepEqual(routes.status(), []);
    end.abort();
    await pass();
  }
});

test('until a server has its routes a node keeps what it serves', async () => {
  const { feed, published, end, routes, pass, connections } = world();
  void routes.run(end.signal);
  await pass();
  assert.equal(connections.length, 1);
  assert.deepEqual(published, []);
  feed.publish(snapshot(80));
  await pass();
  assert.equal(published.length, 1);
  end.abort();
});

test('a node whose connection vanished connects again and receives the changes', async () => {
  const { feed, published, end, routes, pass, connections, network, left, platform } = world();
  feed.publish(snapshot(80));
  void routes.run(end.signal);
  await pass();
  // Heartbeats keep a connection open on which no routes arrive.
  await pass(10 * SILENCE_MS);
  assert.equal(connections.length, 1);
  network.isUp = false;
  connections[0]!.server.write = () => new Promise(() => undefined);
  await pass(SILENCE_MS + 1000);
  feed.publish(snapshot(443));
  await pass(60_000);
  assert.deepEqual(published.map(textOf), ['{"listeners":[80]}'], 'it goes on with the last one');
  assert.deepEqual(left, ['a']);
  const warnings = platform.log.entries.filter(({ message }) => message.includes('no server gives routes'));
  assert.equal(warnings.length, 1);
  network.isUp = true;
  await pass(15_000);
  assert.equal(textOf(published.at(-1)!), '{"listeners":[443]}');
  end.abort();
});

test('a connection that ends while a data plane is opened does not affect the next one', async () => {
  const { feed, taken, published, opened, connections, state, end, routes, pass, platform } = world();
  const { promise, resolve } = Promise.withResolvers<void>();
  state.opening = promise;
  feed.publish(snapshot(80));
  void routes.run(end.signal);
  await pass();
  feed.publish(snapshot(80, 443));
  await pass();
  connections[0]!.server.destroy();
  await pass();
  resolve();
  await pass(1000);
  assert.equal(connections.length, 2);
  assert.deepEqual([opened.length, textOf(published.at(-1)!)], [1, '{"listeners":[80,443]}']);
  opened[0]!(report(80, 443));
  await pass();
  assert.deepEqual(taken, [['a', report(80, 443)]]);
  assert.deepEqual(
    platform.log.entries.filter(({ level }) => level === 'error'),
    [],
  );
  end.abort();
  await pass();
});

test('an excluded node serves nothing, and a deleted one is disconnected', async () => {
  const { feed, serves, published, end, routes, pass, left, network } = world();
  feed.publish(snapshot(80));
  void routes.run(end.signal);
  await pass();
  serves.set('a', 'no');
  feed.refresh('a');
  await pass();
  assert.deepEqual(
    published.map(({ ports }) => ports.size),
    [1, 0],
  );
  serves.set('a', 'yes');
  feed.refresh('a');
  await pass();
  assert.deepEqual(
    published.map(({ ports }) => ports.size),
    [1, 0, 1],
  );
  network.isUp = false;
  serves.delete('a');
  feed.refresh('a');
  await pass();
  assert.deepEqual(left, ['a']);
  await assert.rejects(async () => request(feed, principal('system:node:a')), { code: 403 });
  end.abort();
});

test('a second connection of a node replaces the first, whose reports are dropped', async () => {
  const { feed, taken, left, pass, connections, end, routes, opened } = world();
  feed.publish(snapshot(80));
  void routes.run(end.signal);
  await pass();
  const response = await request(feed, principal('system:node:a'));
  const [server, node] = createMemoryDuplexPair();
  assert.ok(response.kind === 'upgrade');
  void response.accept(server);
  await pass();
  assert.equal(connections.length, 1);
  opened[0]!(report(80));
  await pass();
  assert.deepEqual(taken, []);
  assert.deepEqual(left, []);
  node.destroy();
  end.abort();
  await pass();
});

test('only nodes receive routes, and only by this version of the protocol', async () => {
  const { feed } = world();
  for (const user of [
    principal('system:node:a', ['system:authenticated']),
    principal('admin', ['system:masters']),
    principal('kubelet', ['system:nodes']),
    principal('system:node:b'),
  ])
    await assert.rejects(async () => request(feed, user), { code: 403 });
  await assert.rejects(async () => request(feed, principal('system:node:a'), 'keelson-routes.v0'), { code: 400 });
});
