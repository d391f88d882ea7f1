import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import * as dnsPacket from 'dns-packet';
import { nameserversOf } from './resolv-conf.ts';
import { encodeQuery, setUpDns, texts, type DnsFixture } from './dns-fixture.ts';

const soa = (minimum: number, ttl = 300): object => ({
  type: 'SOA',
  name: 'example.com',
  ttl,
  data: { mname: 'ns.example.com', rname: 'h.example.com', serial: 1, refresh: 1, retry: 1, expire: 1, minimum },
});
const address = (ttl: number, name = 'www.example.com'): object => ({
  answers: [{ type: 'A', name, ttl, data: '192.0.2.80' }],
});

describe('forwarded names', () => {
  let fixture: DnsFixture;
  beforeEach(async () => {
    fixture = await setUpDns();
  });
  afterEach(() => fixture.dns.stop());

  it('are kept for their time to live, which counts down', async () => {
    fixture.script = () => address(60);
    assert.deepEqual(texts((await fixture.ask('WWW.example.com', 'A')).answers), ['A WWW.example.com 192.0.2.80']);
    await fixture.platform.clock.advance(20_000);
    const later = await fixture.ask('www.example.com', 'A');
    assert.equal(later.answers[0]?.ttl, 40);
    assert.deepEqual(fixture.asked, ['udp A www.example.com']);
    await fixture.platform.clock.advance(41_000);
    await fixture.ask('www.example.com', 'A');
    assert.equal(fixture.asked.length, 2);
  });

  it('that do not exist are kept for 30 s at most, and not at all without SOA', async () => {
    fixture.script = (query) => ({
      flags: 3,
      authorities: query.questions[0]?.name === 'no.example.com' ? [soa(3600)] : [],
    });
    for (const name of ['no.example.com', 'bare.example.com'])
      for (let i = 0; i < 2; i++) assert.equal((await fixture.ask(name, 'A')).rcode, 'NXDOMAIN');
    assert.deepEqual(fixture.asked, ['udp A no.example.com', 'udp A bare.example.com', 'udp A bare.example.com']);
    assert.deepEqual(texts((await fixture.ask('no.example.com', 'A')).authorities), ['SOA example.com minimum 3600']);
    await fixture.platform.clock.advance(30_001);
    await fixture.ask('no.example.com', 'A');
    assert.equal(fixture.asked.length, 4);
  });

  it('that do not exist in the root have its SOA, whose name is one empty label', async () => {
    fixture.script = () => ({ flags: 3, authorities: [{ ...soa(60), name: '.' }] });
    const answer = await fixture.send(encodeQuery('nowhere', 'A'));
    assert.ok(answer);
    // As a strict parser: a zero byte, then type SOA and class IN, and nothing behind the record.
    const { rcode, authorities } = dnsPacket.decode(answer);
    assert.equal(rcode, 'NXDOMAIN');
    assert.equal(dnsPacket.decode.bytes, answer.length);
    assert.deepEqual(
      authorities.map(({ type, name, class: recordClass }) => [type, name, recordClass]),
      [['SOA', '.', 'IN']],
    );
  });

  it('with large answers are cached within a bound of bytes: the oldest are asked again, small ones stay', async () => {
    const text = Buffer.alloc(250, 0x61);
    fixture.script = ({ questions }) => ({
      answers: Array.from({ length: 100 }, () => ({ type: 'TXT', name: questions[0]!.name, ttl: 600, data: [text] })),
    });
    const ask = (index: number): Promise<unknown> =>
      fixture.overTcp([encodeQuery(`n${index}.example.com`, 'TXT', { id: 1 })]);
    // About 60 KB each: some 16 MB are kept.
    for (let index = 0; index < 400; index++) await ask(index);
    fixture.asked.length = 0;
    for (const index of [399, 390, 0]) await ask(index);
    assert.deepEqual(
      fixture.asked
        .filter((line) => line.startsWith('tcp') || line.startsWith('udp'))
        .map((line) => line.split(' ')[2]),
      ['n0.example.com'],
    );
  });

  it('are repeated by TCP when the answer was truncated', async () => {
    fixture.script = (_query, transport) => (transport === 'udp' ? { flags: 1 << 9 } : address(60));
    assert.equal((await fixture.ask('www.example.com', 'A')).answers.length, 1);
    assert.deepEqual(fixture.asked, ['udp A www.example.com', 'tcp A www.example.com']);
  });

  it('are sent twice and then fail; our own address is never asked', async () => {
    assert.equal((await fixture.ask('www.example.com', 'A')).rcode, 'SERVFAIL');
    assert.deepEqual(fixture.asked, ['udp A www.example.com', 'udp A www.example.com']);
    fixture.script = () => address(60);
    assert.equal((await fixture.ask('www.example.com', 'A')).rcode, 'NOERROR');
  });

  it('fail at once without name servers', async () => {
    await fixture.platform.files.writeFile('/etc/resolv.conf', '# nobody\n');
    await fixture.platform.clock.advance(6_000);
    const startMs = fixture.platform.clock.monotonicMs();
    assert.equal((await fixture.ask('www.example.com', 'A')).rcode, 'SERVFAIL');
    assert.equal(fixture.platform.clock.monotonicMs(), startMs);
  });

  it('of other types pass unharmed', async () => {
    fixture.script = () => ({
      answers: [
        { type: 'MX', name: 'example.com', ttl: 60, data: { preference: 10, exchange: 'mail.example.com' } },
        { type: 'UNKNOWN_65', name: 'example.com', ttl: 60, data: Buffer.from([0, 1, 0]) },
      ],
    });
    const { answers } = await fixture.ask('example.com', 'MX');
    assert.deepEqual(
      answers.map((r) => r.data),
      [{ preference: 10, exchange: 'mail.example.com' }, Buffer.from([0, 1, 0])],
    );
  });

  it('in flight are sent once for all waiting clients', async () => {
    fixture.script = () => address(60);
    const { datagrams, clock } = fixture.platform;
    let answers = 0;
    const { encodeQuery, DNS_ADDRESS } = await import('./dns-fixture.ts');
    const sockets = await Promise.all(
      Array.from({ length: 5 }, () => datagrams.openDatagrams({ address: '10.0.0.1', port: 0 }, () => void answers++)),
    );
    for (const socket of sockets) socket.send(encodeQuery('www.example.com', 'A'), { address: DNS_ADDRESS, port: 53 });
    await clock.settle();
    assert.equal(answers, 5);
    assert.equal(fixture.asked.length, 1);
    await Promise.all(sockets.map((socket) => socket.close()));
  });
});

describe('stub domains', () => {
  it('have servers of their own', async () => {
    const fixture = await setUpDns({
      resolvConfPath: '/none',
      stubDomains: [{ domain: 'corp.example', servers: [{ address: '192.0.2.53', port: 53 }] }],
    });
    fixture.script = () => address(60, 'git.corp.example');
    assert.equal((await fixture.ask('git.corp.example', 'A')).answers.length, 1);
    assert.equal((await fixture.ask('www.example.com', 'A')).rcode, 'SERVFAIL');
    assert.equal(fixture.asked.length, 1);
    await fixture.dns.stop();
  });
});

describe('resolv.conf', () => {
  for (const [text, servers] of [
    ['nameserver 192.0.2.1\n  nameserver\t192.0.2.2 # second\nsearch a\noptions ndots:5', ['192.0.2.1', '192.0.2.2']],
    [
      'nameserver fd00::0:1\nnameserver fe80::1%eth0\nnameserver nonsense\nnameserver\n#nameserver 192.0.2.9',
      ['fd00::1'],
    ],
    ['nameserver 192.0.2.1\nnameserver 192.0.2.1', ['192.0.2.1']],
    ['', []],
  ] as const) {
    it(JSON.stringify(text), () => assert.deepEqual(nameserversOf(text), servers));
  }
});
