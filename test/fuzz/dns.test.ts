/** `keelson dns-server` over UDP and TCP: hostile messages from a seed, with correct responses to valid queries between them. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createSeededRandom } from '../../src/platform/sim/random.ts';
import { until } from '../integration/fixtures/until.ts';
import { dnsExchange } from './generators/dns.ts';
import { stacksIn } from './oracles/log.ts';
import { residentMib } from './oracles/process.ts';
import { type DnsTarget, startDnsServer } from './targets/dns-server.ts';
import { startKeelsonUp } from './targets/keelson-up.ts';
import type { Target } from './targets/target.ts';
import { DnsClient } from './transports/dns.ts';

const SEED = process.env['KEELSON_FUZZ_SEED'] ?? '20260101';
const MESSAGES = Number(process.env['KEELSON_FUZZ_MESSAGES'] ?? 4000);

describe('keelson dns-server, fuzzed over UDP and TCP', () => {
  let server: Target;
  let dns: DnsTarget;
  let client: DnsClient;
  before(async () => {
    server = await startKeelsonUp();
    dns = await startDnsServer(server.folder);
    client = new DnsClient(dns.address);
  });
  after(async () => {
    client?.close();
    await dns?.stop();
    await server?.stop();
  });

  test(`${MESSAGES} messages of seed ${SEED}`, async (t) => {
    const address = await until('the first answer', async () => {
      assert.ok(!dns.hasEnded(), dns.log());
      return client.ask();
    });
    const random = createSeededRandom(SEED);
    const startedMib = residentMib(dns.pid);
    for (let number = 0; number < MESSAGES; number++) {
      await client.send(dnsExchange(random.fork(String(number))));
      if (number % 100 !== 99) continue;
      assert.ok(!dns.hasEnded(), `ended before message ${number}: ${dns.log().slice(-2000)}`);
      assert.equal(await client.ask(), address, `the answer after message ${number}`);
    }
    const endedMib = residentMib(dns.pid);
    t.diagnostic(`${startedMib} MiB before, ${endedMib} MiB after`);
    assert.ok(endedMib < startedMib + 150, `${startedMib} MiB before, ${endedMib} MiB after`);
    assert.deepEqual(stacksIn(dns.log()), []);
  });
});
