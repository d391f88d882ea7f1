import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import * as dnsPacket from 'dns-packet';
import { EndpointSlices, Services } from '../api/gen/resources.ts';
import { createDnsServer } from './dns-server.ts';
import { DNS_ADDRESS, encodeQuery, service, setUpDns, slice, texts, type DnsFixture } from './dns-fixture.ts';

const SVC = 'default.svc.cluster.local';

describe('the DNS server', () => {
  let fixture: DnsFixture;
  beforeEach(async () => {
    fixture = await setUpDns();
  });
  afterEach(() => fixture.dns.stop());

  /** A query with bytes changed. */
  const mangled = (change: (message: Buffer) => void): Buffer => {
    const message = encodeQuery(`web.${SVC}`, 'A');
    change(message);
    return message;
  };
  const typeAt = (message: Buffer): number => message.length - 4;

  for (const [what, message, rcode] of [
    ['another opcode', mangled((m) => m.writeUInt16BE(2 << 11, 2)), 'NOTIMP'],
    ['two questions', mangled((m) => m.writeUInt16BE(2, 4)), 'FORMERR'],
    ['no question', mangled((m) => m.writeUInt16BE(0, 4)), 'FORMERR'],
    ['a name that does not end', mangled((m) => (m[12] = 63)), 'FORMERR'],
    ['a compressed question', mangled((m) => (m[12] = 0xc0)), 'FORMERR'],
    ['class CHAOS', mangled((m) => m.writeUInt16BE(3, typeAt(m) + 2)), 'REFUSED'],
    ['a zone transfer', mangled((m) => m.writeUInt16BE(252, typeAt(m))), 'REFUSED'],
    ['a missing OPT record', mangled((m) => m.writeUInt16BE(1, 10)), 'FORMERR'],
  ] as const) {
    it(`answers ${what} with ${rcode}`, async () => {
      const answer = dnsPacket.decode((await fixture.send(message)) as Buffer);
      assert.equal(answer.rcode, rcode);
      assert.equal(answer.id, 77);
    });
  }

  it('answers neither responses nor fragments, and survives all bytes', async () => {
    assert.equal(await fixture.send(mangled((m) => m.writeUInt16BE(0x8000, 2))), undefined);
    assert.equal(await fixture.send(Buffer.from([1, 2, 3])), undefined);
    const whole = encodeQuery(`web.${SVC}`, 'A', { edns: 1232 });
    for (let i = 0; i < 300; i++) {
      const bytes = Buffer.from(whole);
      for (let n = 0; n < 3; n++)
        bytes[2 + fixture.platform.random.int(bytes.length - 2)] = fixture.platform.random.int(256);
      const socket = await fixture.platform.datagrams.openDatagrams({ address: '10.0.0.1', port: 0 }, () => undefined);
      socket.send(bytes.subarray(0, 12 + fixture.platform.random.int(bytes.length - 12)), {
        address: DNS_ADDRESS,
        port: 53,
      });
      await socket.close();
    }
    assert.deepEqual(texts((await fixture.ask(`web.${SVC}`, 'A')).answers), [`A web.${SVC} 10.43.0.20`]);
  });

  it('repeats the letters of the question, and the id of each query', async () => {
    for (const id of [1, 2, 65_535]) {
      const answer = dnsPacket.decode((await fixture.send(encodeQuery(`wEb.${SVC}`, 'A', { id }))) as Buffer);
      assert.deepEqual(
        [answer.id, answer.questions[0]?.name, answer.answers[0]?.name],
        [id, `wEb.${SVC}`, `wEb.${SVC}`],
      );
    }
  });

  it('echoes EDNS, refuses its unknown versions, and omits it for clients without it', async () => {
    const opt = (packet: dnsPacket.Packet): unknown => packet.additionals.find((r) => r.type === 'OPT');
    assert.ok(opt(await fixture.ask(`web.${SVC}`, 'A', { edns: 4096 })));
    assert.equal(opt(await fixture.ask(`web.${SVC}`, 'A')), undefined);
    const query = encodeQuery(`web.${SVC}`, 'A', { edns: 4096 });
    query[query.length - 5] = 1;
    const answer = dnsPacket.decode((await fixture.send(query)) as Buffer);
    assert.equal((answer.additionals[0] as unknown as { extendedRcode: number }).extendedRcode, 1);
    assert.equal(answer.answers.length, 0);
  });

  it('truncates at a record what exceeds a datagram, and returns all of it by TCP', async () => {
    fixture.api.seed(Services, service('many', ['None']));
    const endpoints = Array.from({ length: 60 }, (_, i) => ({ addresses: [`10.42.1.${i + 1}`] }));
    fixture.api.seed(EndpointSlices, slice('many', endpoints));
    await fixture.platform.clock.settle();
    const small = (await fixture.send(encodeQuery(`many.${SVC}`, 'A'))) as Buffer;
    assert.ok(small.length <= 512);
    assert.equal(dnsPacket.decode(small).flag_tc, true);
    assert.equal(dnsPacket.decode(small).answers.length, 29);
    const large = (await fixture.send(encodeQuery(`many.${SVC}`, 'A', { edns: 1232 }))) as Buffer;
    assert.equal(dnsPacket.decode(large).flag_tc, false);
    assert.equal(dnsPacket.decode(large).answers.length, 60);
    const [overTcp] = await fixture.overTcp([encodeQuery(`many.${SVC}`, 'A')]);
    assert.equal(overTcp?.answers.length, 60);
  });

  it('answers several queries of one TCP connection in order, and closes idle ones', async () => {
    const names = [`web.${SVC}`, `nobody.${SVC}`, `plain.${SVC}`];
    const answers = await fixture.overTcp(names.map((name, id) => encodeQuery(name, 'A', { id })));
    assert.deepEqual(
      answers.map((a) => [a.id, a.rcode]),
      [
        [0, 'NOERROR'],
        [1, 'NXDOMAIN'],
        [2, 'NOERROR'],
      ],
    );
    const connection = await fixture.platform.net.dial({ host: DNS_ADDRESS, port: 53 });
    await fixture.platform.clock.advance(10_001);
    await connection.closed;
  });

  it('returns SERVFAIL for cluster names until its informers have synced', async () => {
    const { platform } = fixture;
    await fixture.dns.stop();
    fixture.api.intercept = () => {
      throw new Error('away');
    };
    const { createInProcessClient } = await import('../client/in-process-transport.ts');
    const { createDns } = await import('./dns.ts');
    const client = createInProcessClient({
      handler: fixture.api.handler,
      clock: platform.clock,
      principal: { name: 'dns', groups: [] },
      userAgent: 'test',
    });
    const dns = createDns(
      { client, platform },
      { listen: [{ address: DNS_ADDRESS, port: 53 }], domain: 'cluster.local', resolvConfPath: '/none' },
    );
    await dns.start();
    assert.equal((await fixture.ask(`web.${SVC}`, 'A')).rcode, 'SERVFAIL');
    assert.equal(dns.isReady(), false);
    fixture.api.intercept = undefined;
    await platform.clock.advance(60_000);
    assert.equal(dns.isReady(), true);
    assert.equal((await fixture.ask(`web.${SVC}`, 'A')).rcode, 'NOERROR');
    await dns.stop();
  });

  it('counts under CoreDNS names', async () => {
    await fixture.ask(`web.${SVC}`, 'A');
    await fixture.ask(`web.${SVC}`, 'A');
    await fixture.ask(`nobody.${SVC}`, 'A');
    await fixture.platform.clock.advance(5_000);
    const text = await fixture.platform.metrics.expose();
    assert.match(text, /coredns_dns_requests_total\{proto="udp",type="A"\} 3/);
    assert.match(text, /coredns_dns_responses_total\{rcode="NXDOMAIN"\} 1/);
  });

  it('takes another port where any will do and the first one is in use over TCP, and fails where one is wanted', async () => {
    const { platform } = await setUpDns();
    const closed: number[] = [];
    let next = 1000;
    const opened = (port: number) => ({
      local: { address: '127.0.0.1', port },
      close: async () => void closed.push(port),
    });
    const datagrams = {
      ...platform.datagrams,
      openDatagrams: async ({ port }: { readonly port: number }) => ({
        ...opened(port || next++),
        send: () => undefined,
      }),
      listenStreams: async ({ port }: { readonly port: number }) => {
        if (port < 1002) throw Object.assign(new Error('in use'), { code: 'EADDRINUSE' });
        return opened(port);
      },
    };
    const serverAt = (port: number) =>
      createDnsServer(
        {
          platform: { ...platform, datagrams },
          resolve: () => Promise.reject(new Error('unused')),
          zoneVersion: () => 1,
        },
        { listen: [{ address: '127.0.0.1', port }] },
      );
    const server = serverAt(0);
    await server.start();
    assert.deepEqual([server.addresses(), closed], [[{ address: '127.0.0.1', port: 1002 }], [1000, 1001]]);
    await assert.rejects(serverAt(53).start(), { code: 'EADDRINUSE' });
    assert.deepEqual(closed, [1000, 1001, 53]);
  });
});
