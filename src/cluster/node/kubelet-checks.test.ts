/** Checks of a kubelet on the machine, and its cgroups. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { completeConfiguration } from '../../kubelet/configuration/fields.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { checkMachine, placeProcess } from './kubelet-checks.ts';

describe('the machine of a kubelet', () => {
  const kernel = {
    'vm/overcommit_memory': '1',
    'vm/panic_on_oom': '0',
    'kernel/panic': '10',
    'kernel/panic_on_oops': '1',
    'kernel/keys/root_maxkeys': '1000000',
    'kernel/keys/root_maxbytes': '25000000',
  };
  async function machine(values: Readonly<Record<string, string>>) {
    const platform = createSimPlatform();
    for (const [name, value] of Object.entries(values)) {
      await platform.files.makeDir(`/proc/sys/${name.slice(0, name.lastIndexOf('/'))}`);
      await platform.files.writeFile(`/proc/sys/${name}`, `${value}\n`);
    }
    return platform;
  }

  it('has the sysctls that the kubelet needs, where that is required', async () => {
    const config = completeConfiguration({ protectKernelDefaults: true });
    await checkMachine(await machine(kernel), config);
    const other = await machine({ ...kernel, 'kernel/panic': '0' });
    await assert.rejects(checkMachine(other, config), {
      message: '[invalid kernel flag: kernel/panic, expected value: 10, actual value: 0]',
    });
    await checkMachine(other, completeConfiguration({}));
  });

  it('has no swap, unless that is allowed', async () => {
    const platform = createSimPlatform();
    const info = await platform.host.info();
    const swapping = { ...platform, host: { ...platform.host, info: async () => ({ ...info, swapBytes: 2 ** 30 }) } };
    await checkMachine(platform, completeConfiguration({}));
    await assert.rejects(checkMachine(swapping, completeConfiguration({})), /swap/);
    await checkMachine(swapping, completeConfiguration({ failSwapOn: false }));
  });
});

describe('processes of a kubelet', () => {
  it('go to their cgroups: its own, and those of the system that lie in the root', async () => {
    const platform = createSimPlatform();
    const { files, cgroups } = platform;
    const add = async (pid: number, cgroup: string, program?: string): Promise<void> => {
      await files.makeDir(`/proc/${pid}`);
      await files.writeFile(`/proc/${pid}/cgroup`, `0::${cgroup}\n`);
      if (program !== undefined) await files.symlink(program, `/proc/${pid}/exe`);
    };
    await files.makeDir('/proc/self');
    await add(1, '/', '/sbin/init');
    await add(2, '/'); // A thread of the kernel.
    await add(30, '/', '/usr/sbin/sshd');
    await add(31, '/', '/usr/sbin/cron');
    await add(40, '/kubepods/podu', '/bin/app');
    const { addProcess } = cgroups;
    cgroups.addProcess = async (name, pid) => {
      if (pid === 31) throw new Error('EINVAL');
      await addProcess(name, pid);
      await files.writeFile(`/proc/${pid}/cgroup`, `0::${name}\n`);
    };
    const config = completeConfiguration({ kubeletCgroups: '/kubelet', systemCgroups: '/system', cgroupRoot: '/' });
    await add(99, '/', '/usr/bin/node');
    await placeProcess(platform, config, 99);
    const pids = (name: string) => [...(cgroups.groups.get(name)?.pids ?? [])];
    assert.deepEqual([pids('/kubelet'), pids('/system')], [[99], [30]]);
    assert.equal(await files.readText('/proc/self/oom_score_adj'), '-999');
    const told = platform.log.entries.filter(({ message }) => message.startsWith('Failed to move'));
    assert.deepEqual(
      told.map(({ fields }) => fields['pid']),
      [31],
      'once',
    );
  });
});
