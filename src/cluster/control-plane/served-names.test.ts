import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAuthority, issueCertificate } from '../../component-helpers/pki/certificates.ts';
import type { HttpServer } from '../../platform/http.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { ServedNames } from './served-names.ts';

const platform = createSimPlatform();

async function pairFor(dnsNames: readonly string[], ipAddresses: readonly string[] = []) {
  const deps = { ...platform, nowMs: () => platform.clock.nowMs() };
  const authority = await createAuthority(deps, 'ca', 3_600_000);
  const subject = { commonName: 'common-name', dnsNames, ipAddresses, validityMs: 3_600_000 };
  return issueCertificate(deps, authority, { ...subject, usages: ['server'] });
}

function server(): HttpServer & { accepts: boolean } {
  return {
    accepts: true,
    port: 6443,
    close: async () => undefined,
    setCertificate() {
      if (!this.accepts) throw new Error('key values mismatch');
    },
  };
}

test('names and addresses of all certificates count, without wildcards and common names', async () => {
  const served = new ServedNames(platform);
  assert.deepEqual(served.names(), []);
  const main = await pairFor(['Console.Example', '*.console.example'], ['10.0.0.1', 'fd00::1']);
  const sni = [
    { ...(await pairFor(['not-served.example'])), names: ['configured.example', '*.configured.example'] },
    { ...(await pairFor(['second.example', '*.example'])), names: [] },
  ];
  served.follow(server(), { ...main, sni });
  served.follow(server(), undefined);
  const expected = ['console.example', '10.0.0.1', 'fd00::1', 'configured.example', 'second.example'];
  assert.deepEqual(served.names(), expected);
  served.follow(server(), await pairFor(['other-port.example']));
  assert.deepEqual(served.names(), [...expected, 'other-port.example']);
});

test('a replaced certificate counts once the server has loaded it', async () => {
  const served = new ServedNames(platform);
  const inner = server();
  const sni = [{ ...(await pairFor(['kept.example'])), names: [] }];
  const outer = served.follow(inner, { ...(await pairFor(['old.example'])), sni });
  outer.setCertificate(await pairFor(['new.example']));
  assert.deepEqual(served.names(), ['new.example', 'kept.example']);
  inner.accepts = false;
  const refused = await pairFor(['refused.example']);
  assert.throws(() => outer.setCertificate(refused), /key values mismatch/);
  assert.deepEqual(served.names(), ['new.example', 'kept.example']);
  assert.equal(outer.port, 6443);
});
