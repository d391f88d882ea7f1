// One node with ten real pods under a memory limit: whether it survives, and how near it comes to the limit.
//
//   npm run bench:limited -- [--megabytes 512] [--pods 10] [--minutes 3]
// Keelson, its DNS, containerd and the shims share a cgroup with that limit; the pods' own processes are in theirs. Fails when
// the kernel killed one of them. Prints the memory that counts against the limit: private pages, and file pages, which the kernel
// can drop.
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

import { clusterStatus } from '../tools/up/cluster.ts';
import { provideImage } from '../tools/up/demo.ts';
import { type BenchInstance, createBenchInstance } from './run/instance.ts';
import { startPods } from './run/pods.ts';
import { sleep } from './run/wait.ts';

const { values } = parseArgs({
  options: {
    megabytes: { type: 'string', default: '512' },
    pods: { type: 'string', default: '10' },
    minutes: { type: 'string', default: '3' },
  },
});
const limitBytes = Number(values.megabytes) * 1024 * 1024;
const name = `keelson-bench-${process.pid}`;

interface Limited {
  readonly folder: string;
  readonly home: string;
  readonly usage: string;
  readonly kills: string;
  /** Creates the cgroup with the limit. */
  make(): void;
}

/** A cgroup for the limit, of the machine's version 1 or 2; not created yet. */
function limitedGroup(): Limited {
  const isV1 = readFileSync('/proc/mounts', 'utf8').includes(' /sys/fs/cgroup/memory ');
  const root = isV1 ? '/sys/fs/cgroup/memory' : '/sys/fs/cgroup';
  const own = readFileSync('/proc/self/cgroup', 'utf8');
  const home = (isV1 ? /:memory:(.*)/ : /^0::(.*)/m).exec(own)?.[1] ?? '/';
  const folder = `${root}/${name}`;
  return {
    folder,
    home: `${root}${home}`,
    make() {
      if (!isV1) writeFileSync(`${root}/cgroup.subtree_control`, '+memory');
      mkdirSync(folder);
      writeFileSync(`${folder}/${isV1 ? 'memory.limit_in_bytes' : 'memory.max'}`, String(limitBytes));
    },
    usage: `${folder}/${isV1 ? 'memory.max_usage_in_bytes' : 'memory.peak'}`,
    kills: `${folder}/${isV1 ? 'memory.oom_control' : 'memory.events'}`,
  };
}

const moveTo = (folder: string): void => writeFileSync(`${folder}/cgroup.procs`, String(process.pid));
const numberIn = (file: string, field: RegExp): number => Number(field.exec(readFileSync(file, 'utf8'))?.[1] ?? 0);
const megabytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(0)} MB`;

function report(group: Limited, when: string): void {
  const stat = `${group.folder}/memory.stat`;
  const own = numberIn(stat, /^(?:rss|anon) (\d+)/m);
  const files = numberIn(stat, /^(?:cache|file) (\d+)/m);
  const peak = numberIn(group.usage, /(\d+)/);
  const kills = numberIn(group.kills, /oom_kill (\d+)/);
  console.log(
    `${when}: own pages ${megabytes(own)}, files ${megabytes(files)}, peak ${megabytes(peak)}, ended ${kills}`,
  );
  if (kills > 0) throw new Error('the kernel ended a process for want of memory');
}

async function startWithin(group: Limited, instance: BenchInstance): Promise<void> {
  let starting: ReturnType<BenchInstance['start']>;
  moveTo(group.folder); // processes started from here on count; the tool itself moves back
  try {
    starting = instance.start();
  } finally {
    moveTo(group.home);
  }
  await starting;
}

async function measure(group: Limited, instance: BenchInstance): Promise<void> {
  await startWithin(group, instance);
  report(group, 'node Ready');
  await provideImage((await clusterStatus(instance.dataDir)).containerdSocket);
  await startPods(instance, Number(values.pods), 'limited');
  report(group, `${values.pods} pods Ready`);
  for (let minute = 1; minute <= Number(values.minutes); minute++) {
    await sleep(60_000);
    report(group, `after ${minute} min`);
  }
}

const group = limitedGroup();
try {
  group.make();
  const instance = await createBenchInstance([], []);
  try {
    await measure(group, instance);
  } finally {
    await instance.remove();
  }
} finally {
  if (existsSync(group.folder)) rmdirSync(group.folder);
}
