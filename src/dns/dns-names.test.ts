import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { EndpointSlices, Services } from '../api/gen/resources.ts';
import { service, setUpDns, slice, texts, type DnsFixture } from './dns-fixture.ts';

const SOA = ['SOA cluster.local minimum 5'];
const SVC = 'default.svc.cluster.local';

interface Case {
  readonly ask: readonly [type: string, name: string];
  readonly rcode?: string;
  readonly answers?: readonly string[];
  readonly authorities?: readonly string[];
  readonly additionals?: readonly string[];
}

const cases: readonly Case[] = [
  { ask: ['A', `web.${SVC}`], answers: [`A web.${SVC} 10.43.0.20`] },
  { ask: ['AAAA', `web.${SVC}`], answers: [`AAAA web.${SVC} fd00::20`] },
  { ask: ['AAAA', `plain.${SVC}`], authorities: SOA },
  { ask: ['A', `nobody.${SVC}`], rcode: 'NXDOMAIN', authorities: SOA },
  { ask: ['A', 'default.svc.cluster.local'], authorities: SOA },
  { ask: ['A', 'other.svc.cluster.local'], rcode: 'NXDOMAIN', authorities: SOA },
  { ask: ['A', 'cluster.local'], authorities: SOA },
  { ask: ['SOA', 'cluster.local'], answers: SOA },
  { ask: ['NS', 'cluster.local'], answers: ['NS cluster.local ns.dns.cluster.local'] },
  { ask: ['A', 'ns.dns.cluster.local'], answers: ['A ns.dns.cluster.local 10.43.0.10'] },
  { ask: ['TXT', 'dns-version.cluster.local'], answers: ['TXT dns-version.cluster.local 1.1.0'] },
  { ask: ['A', `web.${SVC}.default.svc.cluster.local`], rcode: 'NXDOMAIN', authorities: SOA },
  {
    ask: ['SRV', `_http._tcp.web.${SVC}`],
    answers: [`SRV _http._tcp.web.${SVC} 100 80 web.${SVC}`],
    additionals: [`A web.${SVC} 10.43.0.20`, `AAAA web.${SVC} fd00::20`],
  },
  {
    ask: ['SRV', `_dns._udp.web.${SVC}`],
    answers: [`SRV _dns._udp.web.${SVC} 100 53 web.${SVC}`],
    additionals: [`A web.${SVC} 10.43.0.20`, `AAAA web.${SVC} fd00::20`],
  },
  { ask: ['SRV', `_http._udp.web.${SVC}`], rcode: 'NXDOMAIN', authorities: SOA },
  {
    ask: ['SRV', `plain.${SVC}`],
    answers: [`SRV plain.${SVC} 100 8080 plain.${SVC}`],
    additionals: [`A plain.${SVC} 10.43.0.21`],
  },
  { ask: ['A', `_tcp.web.${SVC}`], authorities: SOA },
  { ask: ['A', `db.${SVC}`], answers: [`A db.${SVC} 10.42.0.7`, `A db.${SVC} 10.42.0.8`, `A db.${SVC} 10.42.0.9`] },
  { ask: ['A', `db-0.db.${SVC}`], answers: [`A db-0.db.${SVC} 10.42.0.7`] },
  { ask: ['A', `DB-0.Db.${SVC}`], answers: [`A DB-0.Db.${SVC} 10.42.0.7`] },
  { ask: ['A', `10-42-0-9.db.${SVC}`], answers: [`A 10-42-0-9.db.${SVC} 10.42.0.9`] },
  { ask: ['A', `db-3.db.${SVC}`], rcode: 'NXDOMAIN', authorities: SOA },
  {
    ask: ['SRV', `_sql._tcp.db.${SVC}`],
    answers: ['10-42-0-9', 'db-0', 'db-1'].map((host) => `SRV _sql._tcp.db.${SVC} 33 5432 ${host}.db.${SVC}`),
    additionals: [`A 10-42-0-9.db.${SVC} 10.42.0.9`, `A db-0.db.${SVC} 10.42.0.7`, `A db-1.db.${SVC} 10.42.0.8`],
  },
  { ask: ['PTR', '20.0.43.10.in-addr.arpa'], answers: [`PTR 20.0.43.10.in-addr.arpa web.${SVC}`] },
  { ask: ['PTR', '7.0.42.10.in-addr.arpa'], answers: [`PTR 7.0.42.10.in-addr.arpa db-0.db.${SVC}`] },
  {
    ask: ['PTR', `0.2.0.0.${'0.'.repeat(24)}0.0.d.f.ip6.arpa`],
    answers: [`PTR 0.2.0.0.${'0.'.repeat(24)}0.0.d.f.ip6.arpa web.${SVC}`],
  },
  { ask: ['A', '10-42-0-7.default.pod.cluster.local'], answers: ['A 10-42-0-7.default.pod.cluster.local 10.42.0.7'] },
  { ask: ['AAAA', 'fd01--7.default.pod.cluster.local'], answers: ['AAAA fd01--7.default.pod.cluster.local fd01::7'] },
  { ask: ['A', '10-42-0-700.default.pod.cluster.local'], rcode: 'NXDOMAIN', authorities: SOA },
  { ask: ['A', 'pod.cluster.local'], authorities: SOA },
  { ask: ['CNAME', `outer.${SVC}`], answers: [`CNAME outer.${SVC} db.example.com`] },
  { ask: ['A', `outer.${SVC}`], answers: ['A db.example.com 192.0.2.80', `CNAME outer.${SVC} db.example.com`] },
  { ask: ['A', `inner.${SVC}`], answers: [`A web.${SVC} 10.43.0.20`, `CNAME inner.${SVC} web.${SVC}`] },
  { ask: ['MX', `web.${SVC}`], authorities: SOA },
];

describe('names of the cluster', () => {
  let fixture: DnsFixture;
  before(async () => {
    fixture = await setUpDns();
    fixture.script = (query) => ({
      answers:
        query.questions[0]?.name === 'db.example.com'
          ? [{ type: 'A', name: 'db.example.com', ttl: 60, data: '192.0.2.80' }]
          : [],
    });
  });
  after(() => fixture.dns.stop());

  for (const { ask, rcode = 'NOERROR', answers = [], authorities = [], additionals = [] } of cases) {
    it(`${ask.join(' ')} → ${rcode} ${answers.length}`, async () => {
      const packet = await fixture.ask(ask[1], ask[0], { edns: 1232 });
      assert.deepEqual(
        {
          rcode: packet.rcode,
          answers: texts(packet.answers),
          authorities: texts(packet.authorities),
          additionals: texts(packet.additionals),
        },
        { rcode, answers, authorities, additionals },
      );
      assert.equal((packet.flags & 0x400) !== 0, true, 'authoritative');
    });
  }

  it('an alias of itself ends', async () => {
    const { answers } = await fixture.ask(`loop.${SVC}`, 'A');
    assert.ok(answers.length >= 1 && answers.every((r) => r.type === 'CNAME'));
  });

  it('addresses rotate', async () => {
    const firsts = new Set<unknown>();
    for (let i = 0; i < 40; i++) firsts.add((await fixture.ask(`db.${SVC}`, 'A')).answers[0]?.data);
    assert.equal(firsts.size, 3);
  });

  it('follows changes at once', async () => {
    const { api, platform } = fixture;
    const address = async (name: string): Promise<string[]> =>
      texts((await fixture.ask(`${name}.${SVC}`, 'A')).answers);
    assert.deepEqual(await address('late'), []);
    api.seed(Services, service('late', ['10.43.0.30']));
    await platform.clock.settle();
    assert.deepEqual(await address('late'), [`A late.${SVC} 10.43.0.30`]);
    api.modify(EndpointSlices, 'default/db-4', () => slice('db', [{ addresses: ['10.42.0.77'], hostname: 'db-0' }]));
    api.remove(Services, 'default/late');
    await platform.clock.settle();
    assert.deepEqual(await address('late'), []);
    assert.deepEqual(await address('db'), [`A db.${SVC} 10.42.0.77`]);
    assert.equal((await fixture.ask(`db-1.db.${SVC}`, 'A')).rcode, 'NXDOMAIN');
    assert.deepEqual(texts((await fixture.ask('7.0.42.10.in-addr.arpa', 'PTR')).answers), []);
  });

  it('answers while the API is down', async () => {
    fixture.api.intercept = () => {
      throw new Error('away');
    };
    fixture.api.breakWatches();
    await fixture.platform.clock.advance(60_000);
    assert.deepEqual(texts((await fixture.ask(`plain.${SVC}`, 'A')).answers), [`A plain.${SVC} 10.43.0.21`]);
    fixture.api.intercept = undefined;
  });
});
