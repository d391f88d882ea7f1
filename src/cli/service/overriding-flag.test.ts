/** Which flags of a service's unit take precedence over remembered settings. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { SYSTEM_UNITS } from './install-service.ts';
import { overridingFlag } from './overriding-flag.ts';
import { unitText } from './unit.ts';

for (const [what, flags, dataDir, found] of [
  ['a flag of its unit', ['--dns=keelson'], '/d', '--dns=keelson'],
  ['a flag that implies it', ['--gateway-http-port=8080'], '/d', '--gateway-http-port=8080'],
  ['its file of settings', ['--config=/etc/keelson.yaml'], '/d', '--config=/etc/keelson.yaml'],
  ['another flag', ['--dns-stub-domain=a=10.0.0.1'], '/d', undefined],
  ['the unit of another cluster', ['--dns=keelson'], '/other', undefined],
] as const)
  test(`${what} ${found === undefined ? 'does not override' : 'overrides'} a remembered setting`, async () => {
    const platform = createSimPlatform();
    const text = unitText({ role: 'server', command: ['/usr/bin/keelson', 'server', ...flags], dataDir });
    await platform.files.makeDir(SYSTEM_UNITS);
    await platform.files.writeFileAtomic(`${SYSTEM_UNITS}/keelson.service`, text);
    const overriding = await overridingFlag(platform, '/d', ['dns', 'gateway-http-port']);
    assert.equal(overriding?.flag, found);
  });
