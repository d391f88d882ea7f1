import assert from 'node:assert/strict';
import { test } from 'node:test';
import { upCommand } from './up.ts';

for (const [args, refusal] of [
  [['--nodes', '0'], /^--nodes: 0 is not a number between 1 and 20$/],
  [['--nodes', '21'], /^--nodes: 21 is not a number/],
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
    // The data directory cannot be: what is not refused fails otherwise.
    await assert.rejects(upCommand().parseAsync(['--data-dir', '/dev/null/x', ...args], { from: 'user' }), {
      name: 'UserError',
      message: refusal,
    });
  });
