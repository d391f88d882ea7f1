import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Principal } from '../../api/transport.ts';
import { KubeletTunnels } from '../../apiserver/streaming/tunnels/kubelet-tunnels.ts';
import { TUNNEL_PROTOCOL } from '../../apiserver/streaming/tunnels/tunnel-protocol.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { createDuplexPair } from '../../platform/sim/streams.ts';
import type { Duplex } from '../../platform/streams.ts';
import { readHead } from '../../component-helpers/streaming/answer-head.ts';
import { keepKubeletTunnels } from './kubelet-tunnels.ts';

const KUBELET_PORT = 10_250;
const nodeUser = (name: string): Principal => ({ name: `system:node:${name}`, groups: ['system:nodes'] });

/** A server, and the machine of a node whose kubelet echoes each connection. */
function createFixture() {
  const platform = createSimPlatform();
  const machine = createSimPlatform({ beside: platform, addresses: ['10.0.0.2'] });
  const tunnels = new KubeletTunnels({ ...platform, isServerName: (name) => name === 'kubernetes' });
  const kubelet: { echoes: boolean } = { echoes: true };
  void machine.datagrams.listenStreams({ address: '10.0.0.2', port: KUBELET_PORT }, (connection) => {
    if (!kubelet.echoes) connection.destroy();
    else void echo(connection);
  });
  /** A request for the tunnel's path, up to the switched connection. */
  const request = async (user: Principal, query = '', headers = { upgrade: TUNNEL_PROTOCOL }) => {
    const scope = { user, params: new URLSearchParams(query), request: { wantsUpgrade: true, headers } };
    const answer = await tunnels.route.serve(scope as never);
    assert.equal(answer.kind, 'upgrade');
    const [client, server] = createDuplexPair();
    if (answer.kind === 'upgrade') void answer.accept(server);
    return client;
  };
  const controls: Duplex[] = [];
  const net = {
    dial: machine.net.dial.bind(machine.net),
    async upgrade({ url }: { readonly url: string }) {
      const { search } = new URL(url);
      const client = await request(nodeUser('node-1'), search);
      const { status, rest } = await readHead(client.incoming);
      assert.equal(status, 101);
      if (search === '') controls.push(client);
      return { status: 101 as const, headers: {}, socket: { ...client, incoming: rest } };
    },
  };
  const ending = new AbortController();
  const keep = (): Promise<void> =>
    keepKubeletTunnels(
      { ...machine, net: net as never },
      {
        servers: ['https://10.0.0.1:6443'],
        tls: async () => ({}),
        kubelet: { host: '10.0.0.2', port: KUBELET_PORT },
      },
      ending.signal,
    );
  const dial = () => platform.net.dial({ host: '127.0.0.1', port: tunnels.portOf('node-1')! });
  return { platform, tunnels, kubelet, request, controls, keep, stop: () => ending.abort(new Error('stop')), dial };
}

async function echo(connection: Duplex): Promise<void> {
  for await (const chunk of connection.incoming) await connection.write(chunk);
  await connection.end();
}

async function ask(connection: Duplex, question: string): Promise<string> {
  await connection.write(question);
  await connection.end();
  let answer = '';
  for await (const chunk of connection.incoming) answer += Buffer.from(chunk).toString();
  return answer;
}

test('connections to the port of a node’s tunnel reach its kubelet, many at a time', async () => {
  const { platform, tunnels, keep, stop, dial } = createFixture();
  const kept = keep();
  await platform.clock.advance(10);
  const answers = [1, 2, 3].map(async (at) => ask(await dial(), `question ${at}`));
  await platform.clock.advance(10);
  assert.deepEqual(await Promise.all(answers), ['question 1', 'question 2', 'question 3']);
  stop();
  await platform.clock.advance(10);
  await kept;
  assert.equal(tunnels.portOf('node-1'), undefined);
});

test('an idle tunnel stays open, and one whose agent does not answer ends', async () => {
  const { platform, tunnels, request, keep, stop } = createFixture();
  const kept = keep();
  await platform.clock.advance(600_000);
  assert.ok(tunnels.portOf('node-1') !== undefined);
  void (await request(nodeUser('silent')));
  await platform.clock.advance(10);
  assert.ok(tunnels.portOf('silent') !== undefined);
  await platform.clock.advance(100_000);
  assert.equal(tunnels.portOf('silent'), undefined);
  stop();
  await platform.clock.advance(10);
  await kept;
});

test('an agent opens its tunnel again, and the newest counts', async () => {
  const { platform, tunnels, controls, keep, stop, dial } = createFixture();
  const kept = keep();
  await platform.clock.advance(10);
  controls[0]!.destroy(new Error('cut'));
  await platform.clock.advance(10);
  assert.equal(tunnels.portOf('node-1'), undefined);
  await platform.clock.advance(5000);
  const answer = ask(await dial(), 'again');
  await platform.clock.advance(10);
  assert.equal(await answer, 'again');
  stop();
  await platform.clock.advance(10);
  await kept;
});

test('a connection that the agent cannot lead to its kubelet, or does not fetch, ends', async () => {
  const { platform, kubelet, request, keep, stop, dial, tunnels } = createFixture();
  kubelet.echoes = false;
  const kept = keep();
  await platform.clock.advance(10);
  const refused = await dial();
  await platform.clock.advance(10);
  await refused.closed;
  stop();
  await kept;
  await request(nodeUser('node-1'));
  await platform.clock.advance(10);
  const crowd = await Promise.all(Array.from({ length: 200 }, () => dial()));
  const ended = new Set<Duplex>();
  for (const one of crowd) void one.closed.then(() => ended.add(one));
  await platform.clock.advance(10);
  assert.equal(ended.size, 72, 'no more than 128 wait');
  await platform.clock.advance(10_000);
  assert.equal(ended.size, 200);
  await tunnels.close();
});

test('a tunnel is opened by its node alone, and a connection fetched once, by the node it is for', async () => {
  const { platform, tunnels, request, dial } = createFixture();
  const refused = { message: 'forbidden: only nodes open tunnels, each for itself' };
  await assert.rejects(request({ name: 'system:node:a', groups: ['system:authenticated'] }), refused);
  await assert.rejects(request({ name: 'system:node:', groups: ['system:nodes'] }), refused);
  await assert.rejects(request({ name: 'somebody', groups: ['system:nodes', 'system:masters'] }), refused);
  await assert.rejects(request(nodeUser('kubernetes')), {
    message: 'forbidden: kubernetes is a name of the API server',
  });
  await assert.rejects(request(nodeUser('127.0.0.1')), {
    message: 'forbidden: 127.0.0.1 is an address: a tunnel needs a node with a name',
  });
  await assert.rejects(request(nodeUser('a'), '', { upgrade: 'websocket' }), {
    message: /Upgrade: keelson-tunnel required/,
  });
  const control = await request(nodeUser('node-1'));
  const { rest } = await readHead(control.incoming);
  await platform.clock.advance(10);
  const client = await dial();
  const order = await rest[Symbol.asyncIterator]().next();
  const id = Buffer.from(order.value as Uint8Array)
    .toString()
    .trim();
  const unknown = { message: 'the server could not find the requested resource' };
  await assert.rejects(request(nodeUser('node-2'), `connection=${id}`), unknown);
  await assert.rejects(request(nodeUser('node-1'), 'connection=__proto__'), unknown);
  const fetched = await request(nodeUser('node-1'), `connection=${id}`);
  await assert.rejects(request(nodeUser('node-1'), `connection=${id}`), unknown);
  await client.write('hello');
  const { rest: carried } = await readHead(fetched.incoming);
  const first = await carried[Symbol.asyncIterator]().next();
  assert.equal(Buffer.from(first.value as Uint8Array).toString(), 'hello');
  await tunnels.close();
});
