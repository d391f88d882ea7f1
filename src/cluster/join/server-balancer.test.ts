import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { openServerBalancer } from './server-balancer.ts';

const PORT = 6444;

async function setUp() {
  const agent = createSimPlatform();
  const { net, datagrams, log, clock } = agent;
  const addresses = ['10.0.0.11', '10.0.0.12', '10.0.0.13'];
  const close = new Map<string, () => void>();
  const serve = (address: string): void => {
    const server = createSimPlatform({ beside: agent, addresses: [address] });
    const greet = server.net.listenRaw(6443, (socket) => void socket.write(address).then(() => socket.end()));
    close.set(address, greet);
  };
  const balancer = await openServerBalancer(
    { net, datagrams, log },
    { servers: addresses.map((address) => `https://${address}:6443`), port: PORT },
  );
  /** The name of the server that answers, '' where the connection ends without an answer. */
  const ask = async (): Promise<string> => {
    const socket = await net.dial({ host: '127.0.0.1', port: PORT });
    let text = '';
    const read = async (): Promise<void> => {
      for await (const chunk of socket.incoming) text += Buffer.from(chunk).toString();
    };
    await clock.drive(read().catch(() => undefined));
    socket.destroy();
    return text;
  };
  return { serve, end: (address: string) => close.get(address)?.(), ask, balancer, net };
}

it('leads to the first server that accepts, and stays with it', async () => {
  const { serve, end, ask, balancer, net } = await setUp();
  assert.equal(balancer.url, `https://127.0.0.1:${PORT}`);
  assert.equal(await ask(), '');
  serve('10.0.0.12');
  assert.equal(await ask(), '10.0.0.12');
  serve('10.0.0.11');
  assert.equal(await ask(), '10.0.0.12');
  end('10.0.0.12');
  assert.equal(await ask(), '10.0.0.11');
  await balancer.close();
  await assert.rejects(net.dial({ host: '127.0.0.1', port: PORT }), { code: 'ECONNREFUSED' });
});
