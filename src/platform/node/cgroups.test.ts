import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { cpuSharesToWeight, type Cgroups } from '../cgroups.ts';
import type { Files } from '../files.ts';
import { createMemoryFiles, type MemoryFiles } from '../sim/files.ts';
import { VirtualClock } from '../sim/virtual-clock.ts';
import { createCgroups } from './cgroups.ts';

/** The kernel's part: new directories are born with their files, and go when no directory and no process is in them. */
function kernelFiles(memory: MemoryFiles, born: Readonly<Record<string, string>>): Files {
  const fill = async (path: string): Promise<void> => {
    for (const [name, content] of Object.entries(born)) {
      if (!(await memory.exists(`${path}/${name}`))) await memory.writeFile(`${path}/${name}`, content);
    }
  };
  return {
    ...memory,
    async makeDir(path) {
      const parts = path.split('/');
      for (let depth = 2; depth <= parts.length; depth++) {
        const parent = parts.slice(0, depth).join('/');
        if (await memory.exists(parent)) continue;
        await memory.makeDir(parent);
        await fill(parent);
      }
    },
    async writeFile(path, data) {
      if (!(await memory.exists(path))) throw Object.assign(new Error(`ENOENT ${path}`), { code: 'ENOENT' });
      await memory.writeFile(path, data);
    },
    async removeDir(path) {
      const names = await memory.readDir(path);
      const kinds = await Promise.all(names.map(async (name) => (await memory.lstat(`${path}/${name}`)).kind));
      const busy = kinds.includes('directory') || (await memory.readText(`${path}/cgroup.procs`)) !== '';
      if (busy) throw Object.assign(new Error(`EBUSY ${path}`), { code: 'EBUSY' });
      await memory.remove(path);
    },
  };
}

describe('version 2', () => {
  const born = {
    'cgroup.procs': '',
    'cgroup.controllers': 'cpuset cpu io memory pids',
    'cgroup.subtree_control': '',
    'cgroup.kill': '',
    'memory.max': 'max',
    'cpu.weight': '100',
    'cpu.max': 'max 100000',
    'pids.max': 'max',
    'memory.min': '0',
  };
  let memory: MemoryFiles;
  let cgroups: Cgroups;
  let clock: VirtualClock;
  let onKill: (pid: number) => boolean;
  const read = (path: string): Promise<string> => memory.readText(`/cg/keelson${path}`);

  beforeEach(async () => {
    clock = new VirtualClock();
    memory = createMemoryFiles({ nowMs: () => clock.nowMs() });
    onKill = () => false;
    const files = kernelFiles(memory, born);
    await files.makeDir('/cg');
    cgroups = createCgroups({
      files,
      clock,
      kill: (pid) => onKill(pid),
      root: '/keelson',
      version: 2,
      mountRoot: '/cg',
    });
  });

  test('enables controllers above and sets limits', async () => {
    await cgroups.create('/kubepods/burstable/pod1', {
      memoryMaxBytes: 1024,
      cpuShares: 1024,
      cpuQuotaUs: 50_000,
      cpuPeriodUs: 100_000,
      pidsMax: 'max',
      unified: { 'memory.min': '7' },
    });
    const pod = '/kubepods/burstable/pod1';
    const values = await Promise.all(
      ['memory.max', 'cpu.weight', 'cpu.max', 'pids.max', 'memory.min'].map((file) => read(`${pod}/${file}`)),
    );
    assert.deepEqual(values, ['1024', '100', '50000 100000', 'max', '7']);
    assert.equal(await read('/kubepods/burstable/cgroup.subtree_control'), '+io');
    assert.equal(await read(`${pod}/cgroup.subtree_control`), '');
    await cgroups.update(pod, { cpuQuotaUs: 'max' });
    assert.equal(await read(`${pod}/cpu.max`), 'max 100000');
    await cgroups.create(pod, {});
    assert.deepEqual(await cgroups.children('/kubepods'), ['burstable']);
    assert.equal(cgroups.criParent(pod), '/keelson/kubepods/burstable/pod1');
    assert.equal(await cgroups.exists('/kubepods/besteffort'), false);
    await assert.rejects(cgroups.update('/none', { pidsMax: 1 }), { code: 'ENOENT' });
  });

  test('reports that a parent with processes cannot delegate', async () => {
    const busy: Files = {
      ...kernelFiles(memory, born),
      async writeFile(path) {
        throw Object.assign(new Error(`EBUSY ${path}`), { code: 'EBUSY' });
      },
    };
    const own = createCgroups({ files: busy, clock, kill: () => true, root: '/keelson', version: 2, mountRoot: '/cg' });
    await assert.rejects(
      own.create('/kubepods', {}),
      /cannot enable the cpu controller in \/cg: the cgroup has processes of its own/,
    );
  });

  test('ends processes and removes from the bottom up, waiting for them', async () => {
    await cgroups.create('/kubepods/pod1', {});
    await cgroups.addProcess('/kubepods/pod1', 17);
    assert.deepEqual(await cgroups.pids('/kubepods'), [17]);
    const killed: number[] = [];
    onKill = (pid) => {
      killed.push(pid);
      // The processes need a moment to end.
      clock.setTimer(60, () => void memory.writeFile('/cg/keelson/kubepods/pod1/cgroup.procs', ''));
      return true;
    };
    await clock.drive(cgroups.destroy('/kubepods'));
    assert.equal(await cgroups.exists('/kubepods'), false);
    assert.equal(killed[0], 17);
    await cgroups.destroy('/kubepods');
  });

  test('statistics are read from the files of cgroup v2', async () => {
    await cgroups.create('/pod', {});
    const files = {
      'cpu.stat': 'usage_usec 1500\nuser_usec 1000\n',
      'memory.current': '5000\n',
      'memory.stat': 'anon 3000\nfile 2000\ninactive_file 500\npgfault 12\npgmajfault 2\n',
      'pids.current': '3\n',
    };
    for (const [name, content] of Object.entries(files)) await memory.writeFile(`/cg/keelson/pod/${name}`, content);
    assert.deepEqual(await cgroups.stats('/pod'), {
      cpuUsageNs: 1_500_000,
      memoryUsageBytes: 5000,
      memoryWorkingSetBytes: 4500,
      memoryRssBytes: 3000,
      pageFaults: 12,
      majorPageFaults: 2,
      pids: 3,
    });
  });

  test('reads the memory limit in force', async () => {
    await cgroups.create('/pod', {});
    assert.equal(await cgroups.memoryMax('/pod'), 'max');
    await cgroups.update('/pod', { memoryMaxBytes: 4096 });
    assert.equal(await cgroups.memoryMax('/pod'), 4096);
  });

  test('reads pressures, of containers by their id with either driver; missing ones are absent', async () => {
    const lines = (some: string): string =>
      `some avg10=${some} avg60=0.50 avg300=0.25 total=1234\nfull avg10=0.00 avg60=0.00 avg300=0.10 total=34\n`;
    const parsed = (avg10: number): object => ({
      some: { avg10, avg60: 0.5, avg300: 0.25, total: 1234 },
      full: { avg10: 0, avg60: 0, avg300: 0.1, total: 34 },
    });
    await cgroups.create('/pod/abc', {});
    await cgroups.create('/pod/cri-containerd-def.scope', {});
    await cgroups.create('/bare', {});
    await memory.writeFile('/cg/keelson/pod/cpu.pressure', lines('1.50'));
    await memory.writeFile('/cg/keelson/pod/io.pressure', 'some avg10=2.00 avg60=0.00 avg300=0.00 total=7\n');
    await memory.writeFile('/cg/keelson/pod/abc/memory.pressure', lines('3.00'));
    await memory.writeFile('/cg/keelson/pod/cri-containerd-def.scope/cpu.pressure', lines('4.00'));
    const none = { avg10: 0, avg60: 0, avg300: 0, total: 0 };
    assert.deepEqual(await cgroups.pressures('/pod'), {
      cpu: parsed(1.5),
      io: { some: { ...none, avg10: 2, total: 7 }, full: none },
    });
    assert.deepEqual(await cgroups.pressures('/pod', 'abc'), { memory: parsed(3) });
    assert.deepEqual(await cgroups.pressures('/pod', 'def'), { cpu: parsed(4) });
    for (const [name, id] of [['/pod', 'gone'], ['/bare'], ['/gone'], ['/gone', 'abc']] as const)
      assert.deepEqual(await cgroups.pressures(name, id), {}, name);
    const off: Files = {
      ...memory,
      async readText(path) {
        throw Object.assign(new Error(`ENOTSUP ${path}`), { code: 'ENOTSUP' });
      },
    };
    const psiOff = createCgroups({
      files: off,
      clock,
      kill: () => true,
      root: '/keelson',
      version: 2,
      mountRoot: '/cg',
    });
    assert.deepEqual(await psiOff.pressures('/pod'), {});
  });

  test('refuses names that lead elsewhere', async () => {
    for (const name of ['pod', '/../x', '/a/..', '/a//b', '/a/', '', '/.']) {
      await assert.rejects(cgroups.create(name, {}), /not a cgroup name/, name);
    }
    assert.throws(() => cgroups.criParent('/a/../../b'), /not a cgroup name/);
    await cgroups.create('/a..b', {});
  });

  test('shares become weights as upstream converts them', () => {
    const cases = [
      [0, 1],
      [2, 1],
      [102, 17],
      [1024, 100],
      [2048, 174],
      [262_144, 10_000],
      [1_000_000, 10_000],
    ];
    for (const [shares, weight] of cases) assert.equal(cpuSharesToWeight(shares!), weight, String(shares));
  });
});

test('version 1: one directory per mounted controller, cpusets filled from above', async () => {
  const clock = new VirtualClock();
  const memory = createMemoryFiles({ nowMs: () => clock.nowMs() });
  const born: Record<string, string> = {
    'cgroup.procs': '',
    'cpu.shares': '1024',
    'cpu.cfs_quota_us': '-1',
    'cpu.cfs_period_us': '100000',
    'memory.limit_in_bytes': '-1',
    'cpuset.cpus': '',
    'cpuset.mems': '',
    'pids.max': 'max',
  };
  for (const controller of ['cpu,cpuacct', 'cpuset', 'memory', 'pids']) await memory.makeDir(`/cg/${controller}`);
  for (const link of ['cpu', 'cpuacct']) await memory.symlink('cpu,cpuacct', `/cg/${link}`);
  await memory.writeFile('/cg/cpuset/cpuset.cpus', '0-3\n');
  await memory.writeFile('/cg/cpuset/cpuset.mems', '0\n');
  const files = kernelFiles(memory, born);
  const cgroups = createCgroups({ files, clock, kill: () => true, root: '/k', version: 1, mountRoot: '/cg' });
  await cgroups.create('/pods', {});
  await cgroups.create('/pods/a', {
    cpuShares: 0,
    cpuQuotaUs: 'max',
    memoryMaxBytes: 4096,
    pidsMax: 10,
    hugePageLimits: { '2MB': 0 },
  });
  const read = (path: string): Promise<string> => memory.readText(`/cg/${path}`);
  assert.deepEqual(
    await Promise.all(
      [
        'cpu/k/pods/a/cpu.shares',
        'cpu/k/pods/a/cpu.cfs_quota_us',
        'memory/k/pods/a/memory.limit_in_bytes',
        'pids/k/pods/a/pids.max',
      ].map(read),
    ),
    ['2', '-1', '4096', '10'],
  );
  assert.deepEqual(
    await Promise.all(['cpuset/k/cpuset.cpus', 'cpuset/k/pods/a/cpuset.cpus', 'cpuset/k/pods/a/cpuset.mems'].map(read)),
    ['0-3', '0-3', '0'],
  );
  assert.equal(await cgroups.memoryMax('/pods/a'), 4096);
  await memory.writeFile('/cg/memory/k/pods/memory.limit_in_bytes', '9223372036854771712\n');
  assert.equal(await cgroups.memoryMax('/pods'), 'max');
  await cgroups.addProcess('/pods/a', 5);
  assert.deepEqual(await cgroups.pids('/pods'), [5]);
  assert.deepEqual(await cgroups.children('/pods'), ['a']);
  for (const controller of ['cpu', 'cpuset', 'memory', 'pids'])
    await memory.writeFile(`/cg/${controller}/k/pods/a/cgroup.procs`, '');
  await cgroups.destroy('/pods');
  assert.equal(await cgroups.exists('/pods'), false);
  assert.equal(await memory.exists('/cg/memory/k'), true);
});
