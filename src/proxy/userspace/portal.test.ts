import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Datagrams, SocketAddress } from '../../platform/datagrams.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { createBalancer, type Target } from './balancer.ts';
import { openPortal } from './portal.ts';

const target = (last: number): Target => ({ address: `10.42.0.${last}`, port: 80 });
const [a, b, c] = [target(1), target(2), target(3)];

describe('the balancer', () => {
  it('returns the endpoints in turn, and none where there is none', () => {
    assert.equal(createBalancer().next('x', 0), undefined);
    const balancer = createBalancer();
    balancer.setTargets([a, b], 0);
    assert.deepEqual(
      [0, 1, 2].map(() => balancer.next('x', 0)),
      [a, b, a],
    );
  });

  it('keeps a client at its endpoint until the timeout without traffic, its removal, or a failed connection', () => {
    const balancer = createBalancer();
    balancer.setTargets([a, b, c], 10);
    assert.deepEqual([balancer.next('x', 0), balancer.next('y', 0)], [a, b]);
    // Each connection restarts the timeout.
    assert.deepEqual([balancer.next('x', 9_000), balancer.next('x', 18_000)], [a, a]);
    assert.equal(balancer.next('y', 10_000), c, 'silent for too long');
    balancer.setTargets([b, c], 10);
    assert.equal(balancer.next('y', 10_000), c);
    assert.notEqual(balancer.next('x', 18_000), a, 'gone');
    assert.equal(balancer.next('y', 10_000, true), b, 'did not answer');
    assert.equal(balancer.next('y', 10_000), b, 'and this one it keeps');
  });
});

describe('a portal of datagrams', () => {
  async function setUp() {
    const { net, datagrams, clock, log } = createSimPlatform();
    const portal = await openPortal({ net, datagrams, clock, log }, 'udp', 4);
    const heard: string[] = [];
    const servers: SocketAddress[] = [];
    for (const name of ['a', 'b']) {
      const server = await serve(datagrams, name);
      servers.push(server);
    }
    const client = await datagrams.openDatagrams({ address: '127.0.0.1', port: 0 }, (data) =>
      heard.push(Buffer.from(data).toString()),
    );
    return {
      portal,
      clock,
      servers,
      async ask(): Promise<string | undefined> {
        client.send(Buffer.from('?'), { address: '127.0.0.1', port: portal.port });
        await clock.settle();
        return heard.shift();
      },
    };
  }
  async function serve(datagrams: Datagrams, name: string): Promise<SocketAddress> {
    const socket = await datagrams.openDatagrams({ address: '127.0.0.1', port: 0 }, (_data, from) =>
      socket.send(Buffer.from(name), from),
    );
    return { address: '127.0.0.1', port: socket.local.port };
  }

  it('keeps an active client at its endpoint while that serves, chosen or not', async () => {
    const { portal, servers, ask } = await setUp();
    const [first, second] = servers as [Target, Target];
    portal.balancer.setTargets([first], 0);
    assert.equal(await ask(), 'a');
    portal.balancer.setTargets([second], 0);
    portal.keep([first.address, second.address]);
    assert.equal(await ask(), 'a');
    portal.keep([]);
    assert.equal(await ask(), 'b');
    await portal.close();
  });

  it('forgets a client that is silent', async () => {
    const { portal, servers, clock, ask } = await setUp();
    portal.balancer.setTargets(servers, 0);
    assert.deepEqual([await ask(), await ask()], ['a', 'a']);
    await clock.advance(30_000);
    assert.equal(await ask(), 'b');
    await portal.close();
  });
});
