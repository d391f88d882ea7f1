import assert from 'node:assert/strict';
import { test } from 'node:test';
import { upCommand } from './up.ts';

for (const [args, refusal] of [
  [['--nodes', '0'], /^--nodes: 0 is not a number between 1 and 20$/],
  [['--nodes', '21'], /^--nodes: 21 is not a number/],
  ...['0x3', '3.0', '1e1', '+2', ' 2'].map(
    (text) => [['--nodes', text], /^--nodes: .* is not a number between 1 and 20$/] as const,
  ),
  [['--simulate', '--nodes', '0x3'], /^--nodes: 0x3 is not a number between 0 and 5000$/],
  [['--nodes-network', '10.1.0.0/24'], /add --nodes$/],
  [['--nodes', '1', '--nodes-network', '10.1.0.0/24'], /--nodes 2 or more$/],
  [['--nodes', '2', '--nodes-network', 'fd42::/64'], /is no range of IPv4/],
  [['--nodes', '2', '--nodes-network', '10.1.0.0/24,10.2.0.0/24'], /is no range of IPv4/],
  [['--nodes', '2', '--nodes-network', '10.1.0.0/28'], /must be between \/8 and \/27$/],
  [
    ['--simulate', '--nodes', '2', '--nodes-network', '10.1.0.0/24'],
    /^--simulate: --nodes-network needs a real cluster$/,
  ],
  [['--nodes', 'many'], /^--nodes: many is not a number/],
  [['--nodes', '2', '--container-runtime-endpoint', 'unix:///a'], /leave --container-runtime-endpoint out$/],
  [['--nodes', '2', '--cni', 'none'], /leave --cni none out$/],
  [
    ['--nodes', '2', '--cluster-cidr', 'fd42::/56,10.9.0.0/16', '--service-cidr', 'fd43::/112,10.8.0.0/16'],
    /must be of IPv4/,
  ],
  [['--nodes', '2', '--node-name', 'a'.repeat(61)], /give a --node-name$/],
] as const)
  test(`up ${args.join(' ')} is refused`, async () => {
    // The data directory is invalid: arguments that are not refused lead to another error.
    await assert.rejects(upCommand().parseAsync(['--data-dir', '/dev/null/x', ...args], { from: 'user' }), {
      name: 'UserError',
      message: refusal,
    });
  });
