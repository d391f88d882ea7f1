import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryFiles, type MemoryFiles } from '../sim/files.ts';
import { readCountersV1, readCountersV2 } from './cgroup-counters.ts';

async function filesWith(contents: Readonly<Record<string, string>>): Promise<MemoryFiles> {
  const files = createMemoryFiles({ nowMs: () => 0 });
  for (const [path, content] of Object.entries(contents)) {
    await files.makeDir(path.slice(0, path.lastIndexOf('/')));
    await files.writeFile(path, content);
  }
  return files;
}

const CPU_STAT_V2 =
  'usage_usec 9\nuser_usec 5\nsystem_usec 4\nnr_periods 10\nnr_throttled 3\nthrottled_usec 700\nnr_bursts 0\n';

test('Version 2: the counters of a cgroup are read from its own files', async () => {
  const files = await filesWith({
    '/cg/pod/cpu.stat': CPU_STAT_V2,
    '/cg/pod/memory.stat': 'anon 1\nfile 2\nkernel 3\nfile_mapped 4\ninactive_file 5\nactive_file 6\n',
    '/cg/pod/memory.events': 'low 0\nhigh 0\nmax 8\noom 2\noom_kill 1\noom_group_kill 0\n',
    '/cg/pod/memory.peak': '4096\n',
    '/cg/pod/io.stat':
      '8:0 rbytes=100 wbytes=200 rios=3 wios=4 dbytes=0 dios=0\n253:1 rbytes=1 wbytes=0 rios=1 wios=0\n',
  });
  assert.deepEqual(await readCountersV2(files, '/cg/pod'), {
    cpuUserNs: 5000,
    cpuSystemNs: 4000,
    cfsPeriods: 10,
    cfsThrottledPeriods: 3,
    cfsThrottledNs: 700_000,
    memoryCacheBytes: 2,
    memoryMappedFileBytes: 4,
    memoryKernelBytes: 3,
    memoryActiveFileBytes: 6,
    memoryInactiveFileBytes: 5,
    memoryMaxUsageBytes: 4096,
    memoryFailures: 8,
    oomKills: 1,
    devices: [
      { major: 8, minor: 0, readBytes: 100, writeBytes: 200, reads: 3, writes: 4 },
      { major: 253, minor: 1, readBytes: 1, writeBytes: 0, reads: 1, writes: 0 },
    ],
  });
});

test('Version 2: a container is found by its id with either cgroup driver; without its cgroup there are no counters', async () => {
  const files = await filesWith({
    '/cg/pod/c1/cpu.stat': CPU_STAT_V2,
    '/cg/pod/cri-containerd-c2.scope/cpu.stat': 'user_usec 7\n',
  });
  assert.equal((await readCountersV2(files, '/cg/pod', 'c1'))?.cfsPeriods, 10);
  assert.equal((await readCountersV2(files, '/cg/pod', 'c2'))?.cpuUserNs, 7000);
  assert.equal(await readCountersV2(files, '/cg/pod', 'c3'), undefined);
  assert.equal(await readCountersV2(files, '/cg/gone'), undefined);
});

test('Version 1: the counters are read from the mounts of four controllers', async () => {
  const files = await filesWith({
    '/cpu/pod/cpu.stat': 'nr_periods 10\nnr_throttled 3\nthrottled_time 700\n',
    '/cpuacct/pod/cpuacct.stat': 'user 5\nsystem 4\n',
    '/memory/pod/memory.stat':
      'cache 0\ntotal_cache 2\ntotal_mapped_file 4\ntotal_inactive_file 5\ntotal_active_file 6\n',
    '/memory/pod/memory.oom_control': 'oom_kill_disable 0\nunder_oom 0\noom_kill 1\n',
    '/memory/pod/memory.max_usage_in_bytes': '4096\n',
    '/memory/pod/memory.failcnt': '8\n',
    '/blkio/pod/blkio.throttle.io_service_bytes': '8:0 Read 100\n8:0 Write 200\n8:0 Total 300\nTotal 300\n',
    '/blkio/pod/blkio.throttle.io_serviced': '8:0 Read 3\n8:0 Write 4\nTotal 7\n',
  });
  const counters = await readCountersV1(files, (controller) => `/${controller}/pod`);
  assert.deepEqual(counters, {
    cpuUserNs: 50_000_000,
    cpuSystemNs: 40_000_000,
    cfsPeriods: 10,
    cfsThrottledPeriods: 3,
    cfsThrottledNs: 700,
    memoryCacheBytes: 2,
    memoryMappedFileBytes: 4,
    memoryKernelBytes: undefined,
    memoryActiveFileBytes: 6,
    memoryInactiveFileBytes: 5,
    memoryMaxUsageBytes: 4096,
    memoryFailures: 8,
    oomKills: 1,
    devices: [{ major: 8, minor: 0, readBytes: 100, writeBytes: 200, reads: 3, writes: 4 }],
  });
  assert.equal(await readCountersV1(files, (controller) => `/${controller}/gone`), undefined);
  assert.equal(await readCountersV1(files, (controller) => `/${controller}/pod`, 'c1'), undefined);
});
