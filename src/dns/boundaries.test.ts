/** Parts of DNS that throw, large answers and greedy clients: each affects only its own query, over real sockets. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, test } from 'node:test';
import * as dnsPacket from 'dns-packet';
import { createNodeClock } from '../platform/node/clock.ts';
import { createNodeDatagrams } from '../platform/node/datagrams.ts';
import { freePort } from '../platform/node/free-port-fixture.ts';
import { createSimPlatform } from '../platform/sim/sim-platform.ts';
import { encodeQuery } from './dns-fixture.ts';
import { createDnsServer, type DnsServer } from './dns-server.ts';
import type { Answer, Resolver } from './resolver.ts';
import { frame } from './stream-connection.ts';

const broken = (): never => {
  throw new TypeError('broken');
};
const good: Answer = {
  rcode: 'NOERROR',
  authoritative: true,
  answers: [{ type: 'A', name: 'good.example', ttl: 5, data: '192.0.2.1' }],
  authorities: [],
  additionals: [],
};
const resolvers: Readonly<Record<string, Resolver>> = {
  'that throws': broken,
  'that throws later': async () => broken(),
  'that answers nothing': () => undefined as never,
  'that answers nothing later': async () => undefined as never,
  'whose records cannot be encoded': () => ({ ...good, answers: [{ type: 'A', name: 'x', ttl: 5, data: {} }] }),
};

const running: DnsServer[] = [];
const sockets = new Set<Socket>();
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  for (const server of running.splice(0)) await server.stop();
});

async function start(resolve: Resolver) {
  const platform = createSimPlatform({ seed: 1 });
  const server = createDnsServer(
    {
      platform: { ...platform, clock: createNodeClock(), datagrams: createNodeDatagrams(platform.log) },
      resolve: (query) => (query.name === 'good.example' ? good : resolve(query)),
      zoneVersion: () => 1,
    },
    // A port that is free over UDP and TCP: clients' ports come from another range.
    { listen: [{ address: '127.0.0.1', port: await freePort('127.0.0.1') }] },
  );
  await server.start();
  running.push(server);
  const [at] = server.addresses();
  const dial = async (): Promise<Socket> => {
    const socket = connect({ host: '127.0.0.1', port: at!.port }).on('error', () => undefined);
    sockets.add(socket);
    await once(socket, 'connect');
    return socket;
  };
  return {
    platform,
    dial,
    async udp(name: string): Promise<dnsPacket.Packet> {
      const reply = Promise.withResolvers<Uint8Array>();
      const client = await createNodeDatagrams(platform.log).openDatagrams(
        { address: '127.0.0.1', port: 0 },
        reply.resolve,
      );
      client.send(encodeQuery(name, 'A'), at!);
      const answer = dnsPacket.decode(Buffer.from(await reply.promise));
      await client.close();
      return answer;
    },
    async tcp(name: string): Promise<dnsPacket.Packet> {
      const socket = await dial();
      socket.end(frame(encodeQuery(name, 'A')));
      const chunks: Buffer[] = [];
      for await (const chunk of socket) chunks.push(chunk as Buffer);
      return dnsPacket.decode(Buffer.concat(chunks).subarray(2));
    },
  };
}

for (const [what, resolve] of Object.entries(resolvers))
  for (const transport of ['udp', 'tcp'] as const)
    test(`a resolver ${what} fails its own query over ${transport}, logged once and counted`, async () => {
      const server = await start(resolve);
      assert.equal((await server[transport]('bad.example')).rcode, 'SERVFAIL');
      assert.equal(server.platform.metrics.value('keelson_unexpected_errors_total', { component: '' }), 1);
      const errors = server.platform.log.entries.filter(({ level }) => level === 'error');
      assert.equal(errors.length, 1);
      assert.match((errors[0]!.fields['err'] as Error).stack!, /TypeError/);
      assert.equal((await server[transport]('good.example')).answers.length, 1);
    });

describe('a greedy client over TCP', () => {
  test('has a hundred connections; the next is closed, and another is accepted when one has ended', async () => {
    const server = await start(broken);
    const held: Socket[] = [];
    for (let count = 0; count < 100; count++) held.push(await server.dial());
    const refused = await server.dial();
    refused.resume();
    await once(refused, 'close');
    held[0]!.destroy();
    for (let answered = false; !answered;) {
      const socket = await server.dial();
      socket.write(frame(encodeQuery('good.example', 'A')));
      answered = await Promise.race([once(socket, 'data').then(() => true), once(socket, 'close').then(() => false)]);
    }
  });

  test('that promises a query of 64 KB is left at its head', async () => {
    const server = await start(broken);
    const socket = await server.dial();
    socket.resume().write(Buffer.from([0xff, 0xff, 0]));
    await once(socket, 'close');
  });
});
