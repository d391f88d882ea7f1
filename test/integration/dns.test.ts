/** Cluster DNS over real sockets on loopback: raw queries by UDP and TCP, and the resolver of Node.js as a client. */
import assert from 'node:assert/strict';
import { Resolver } from 'node:dns/promises';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { createSocket } from 'node:dgram';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import * as dnsPacket from 'dns-packet';
import { createInProcessClient } from '../../src/client/in-process-transport.ts';
import { createFakeApi } from '../../src/client/fake-api-fixture.ts';
import { createDns, type Dns } from '../../src/dns/dns.ts';
import { encodeQuery, seedServices, texts } from '../../src/dns/dns-fixture.ts';
import { createNodePlatform, type NodePlatform } from '../../src/platform/node/node-platform.ts';

const SVC = 'default.svc.cluster.local';

describe('cluster DNS on loopback', () => {
  let platform: NodePlatform;
  let dns: Dns;
  let port: number;
  let folder: string;
  const upstream = createSocket('udp4');
  const upstreamPort = Promise.withResolvers<number>();

  before(async () => {
    platform = createNodePlatform({ log: { level: 'warn' }, startSpawner: false });
    upstream.on('message', (message, from) => {
      const query = dnsPacket.decode(message);
      upstream.send(
        dnsPacket.encode({
          type: 'response',
          id: query.id,
          questions: query.questions,
          answers: [{ type: 'A', name: query.questions[0]?.name, ttl: 9, data: '192.0.2.7' }],
        }),
        from.port,
        from.address,
      );
    });
    upstream.bind(0, '127.0.0.1', () => upstreamPort.resolve(upstream.address().port));
    folder = mkdtempSync(join(tmpdir(), 'keelson-dns-'));
    // The upstream is this server itself: no query may leave this machine.
    writeFileSync(join(folder, 'resolv.conf'), 'nameserver 127.0.0.1\n');
    const api = createFakeApi(() => '2026-01-01T00:00:00Z');
    seedServices(api);
    const client = createInProcessClient({
      handler: api.handler,
      clock: platform.clock,
      principal: { name: 'dns', groups: [] },
      userAgent: 'test',
    });
    dns = createDns(
      { client, platform },
      {
        listen: [{ address: '127.0.0.1', port: 0 }],
        domain: 'cluster.local',
        resolvConfPath: join(folder, 'resolv.conf'),
        stubDomains: [{ domain: 'example.com', servers: [{ address: '127.0.0.1', port: await upstreamPort.promise }] }],
      },
    );
    await dns.start();
    await dns.ready();
    port = dns.addresses()[0]?.port ?? 0;
  });
  after(async () => {
    await dns.stop();
    upstream.close();
    platform.close();
    rmSync(folder, { recursive: true });
  });

  test('raw queries by UDP, many at once from one socket', async () => {
    const socket = createSocket('udp4');
    const answers = new Map<number, dnsPacket.Packet>();
    const { promise, resolve } = Promise.withResolvers<void>();
    socket.on('message', (message) => {
      const packet = dnsPacket.decode(message);
      answers.set(packet.id, packet);
      if (answers.size === 300) resolve();
    });
    const ask = (id: number): void =>
      socket.send(
        encodeQuery(id % 3 === 0 ? `web.${SVC}` : id % 3 === 1 ? `no-${id}.${SVC}` : 'www.example.com', 'A', { id }),
        port,
        '127.0.0.1',
      );
    const ids = Array.from({ length: 300 }, (_, id) => id);
    ids.forEach(ask);
    // UDP: the kernel drops packets when the reader is slow, so clients repeat queries without an answer.
    const again = setInterval(() => ids.filter((id) => !answers.has(id)).forEach(ask), 2_000);
    await promise;
    clearInterval(again);
    socket.close();
    for (const [id, packet] of answers) {
      const expected = id % 3 === 0 ? [`A web.${SVC} 10.43.0.20`] : id % 3 === 1 ? [] : ['A www.example.com 192.0.2.7'];
      assert.deepEqual(texts(packet.answers), expected);
      assert.equal(packet.rcode, id % 3 === 1 ? 'NXDOMAIN' : 'NOERROR');
    }
  });

  test('two queries in one TCP segment', async () => {
    const socket = connect(port, '127.0.0.1');
    const framed = (message: Buffer): Buffer =>
      Buffer.concat([Buffer.from([message.length >> 8, message.length & 255]), message]);
    socket.write(
      Buffer.concat([
        framed(encodeQuery(`web.${SVC}`, 'A', { id: 1 })),
        framed(encodeQuery(`web.${SVC}`, 'AAAA', { id: 2 })),
      ]),
    );
    socket.end();
    let bytes = Buffer.alloc(0);
    for await (const chunk of socket) bytes = Buffer.concat([bytes, chunk as Buffer]);
    const first = bytes.subarray(2, 2 + bytes.readUInt16BE(0));
    const second = bytes.subarray(4 + first.length);
    assert.deepEqual(
      [first, second].flatMap((m) => texts(dnsPacket.decode(m).answers)),
      [`A web.${SVC} 10.43.0.20`, `AAAA web.${SVC} fd00::20`],
    );
  });

  test('a stub resolver of another implementation understands every answer', async () => {
    const resolver = new Resolver({ timeout: 10_000, tries: 4 });
    resolver.setServers([`127.0.0.1:${port}`]);
    assert.deepEqual(await resolver.resolve4(`web.${SVC}`), ['10.43.0.20']);
    assert.deepEqual((await resolver.resolve4(`db.${SVC}`)).toSorted(), ['10.42.0.7', '10.42.0.8', '10.42.0.9']);
    assert.partialDeepStrictEqual(await resolver.resolveSrv(`_http._tcp.web.${SVC}`), [
      { name: `web.${SVC}`, port: 80, priority: 0, weight: 100 },
    ]);
    assert.deepEqual(await resolver.reverse('10.43.0.20'), [`web.${SVC}`]);
    assert.deepEqual(await resolver.resolveCname(`outer.${SVC}`), ['db.example.com']);
    assert.deepEqual(await resolver.resolve4(`outer.${SVC}`), ['192.0.2.7']);
    assert.deepEqual(await resolver.resolveTxt('dns-version.cluster.local'), [['1.1.0']]);
    await assert.rejects(resolver.resolve4(`nobody.${SVC}`), { code: 'ENOTFOUND' });
    await assert.rejects(resolver.resolve6(`plain.${SVC}`), { code: 'ENODATA' });
    await assert.rejects(resolver.resolve4('www.example.org'), { code: 'ESERVFAIL' });
  });
});
