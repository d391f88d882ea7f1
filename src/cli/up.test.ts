import assert from 'node:assert/strict';
import { test } from 'node:test';
import { upCommand } from './up.ts';
import { UserError } from './usage-error.ts';

const GIVEN: readonly (readonly [string, string])[] = [
  ['--advertise-address', '10.0.0.1'],
  ['--cluster-cidr', '10.9.0.0/16'],
  ['--cluster-domain', 'a.example'],
  ['--cni', 'none'],
  ['--container-runtime-endpoint', 'unix:///a'],
  ['--dns', 'none'],
  ['--dns-stub-domain', 'a.example=10.0.0.53'],
  ['--node-ip', '10.0.0.1'],
  ['--node-name', 'a'],
  ['--nodeport-addresses', 'primary'],
  ['--proxy-mode', 'iptables'],
  ['--scheduler-config', '/dev/null'],
  ['--service-cidr', '10.9.0.0/16'],
  ['--tls-san', 'a.example'],
];

test('up --simulate refuses each network and machine option that it does not honour', async () => {
  for (const [option, value] of GIVEN)
    await assert.rejects(
      // The data directory is invalid: arguments that are not refused lead to another error.
      upCommand().parseAsync(['--simulate', '--data-dir', '/dev/null/x', option, value], { from: 'user' }),
      (error: Error) => error instanceof UserError && error.message === `--simulate: ${option} needs a real cluster`,
      option,
    );
});
