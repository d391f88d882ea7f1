/** Whether a machine has what encrypts between nodes, before anything is started. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { checkFlannelBackend } from './prepare-instance.ts';
import type { FlannelBackend } from './instance.ts';

interface Machine {
  readonly programs: readonly string[];
  readonly hasKernel: boolean;
}

async function check(machine: Machine, backend: FlannelBackend | undefined, cni: 'keelson' | 'none' = 'keelson') {
  const platform = createSimPlatform();
  await platform.files.makeDir('/usr/bin');
  for (const program of machine.programs) await platform.files.writeFile(`/usr/bin/${program}`, '');
  const ran: string[] = [];
  platform.exec.program('ip', ({ args }) => {
    ran.push(args.join(' '));
    return { exitCode: args.includes('add') && !machine.hasKernel ? 2 : 0 };
  });
  const problem = await platform.clock.drive(
    checkFlannelBackend(platform, { dataDir: '/d', cni }, backend).then(
      () => '',
      (error: Error) => error.message,
    ),
  );
  return { problem, ran };
}

test('nothing is looked for without it', async () => {
  for (const backend of [undefined, 'vxlan'] as const)
    assert.deepEqual(await check({ programs: [], hasKernel: false }, backend), { problem: '', ran: [] });
});

test('wg is needed, and wireguard-go where the kernel has no WireGuard; the packages are named', async () => {
  const needs = '--flannel-backend wireguard-native needs what is missing: ';
  const wg = 'wg (Debian: wireguard-tools)';
  const go = 'wireguard-go (Debian: wireguard-go)';
  for (const [programs, hasKernel, problem] of [
    [[], false, `${needs}${wg}, ${go}`],
    [['wg'], false, `${needs}${go}`],
    [['wireguard-go'], false, `${needs}${wg}`],
    [[], true, `${needs}${wg}`],
    [['wg'], true, ''],
    [['wg', 'wireguard-go'], false, ''],
  ] as const)
    assert.equal((await check({ programs, hasKernel }, 'wireguard-native')).problem, problem);
});

test('the device by which the kernel is tried does not stay', async () => {
  const { ran } = await check({ programs: ['wg'], hasKernel: true }, 'wireguard-native');
  const [added = '', removed = ''] = ran;
  const [, device] = /^link add (kw[0-9a-f]{6}) type wireguard$/.exec(added) ?? [];
  assert.equal(removed, `link del ${device}`);
});

test('it is refused with a CNI plugin of the user’s', async () => {
  const { problem } = await check({ programs: ['wg'], hasKernel: true }, 'wireguard-native', 'none');
  assert.match(problem, /with --cni none your plugin connects the nodes/);
});
