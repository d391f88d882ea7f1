// The cost of many objects: lists of 10,000 while other clients read one, and a start with 100,000 stored.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { output } from './child-output.ts';
import type { BenchInstance } from './instance.ts';
import { memoryTogetherMb, sampleProcesses } from './processes.ts';
import type { Figure } from './report.ts';
import { sleep } from './wait.ts';

const LISTED = 10_000;
const STORED = 100_000;

/** Lists of 10,000 objects of 1 KB by four clients for this time, one object read beside them, and the memory of that. */
export async function listFigures(instance: BenchInstance, forMs: number): Promise<Figure[]> {
  await load(instance, 'fill', LISTED);
  const beforeMb = residentMb(instance.pid());
  let mostMb = beforeMb;
  const sampler = setInterval(() => (mostMb = Math.max(mostMb, residentMb(instance.pid()))), 20);
  const [lists, others] = await Promise.all([load(instance, 'list', forMs), load(instance, 'probe', forMs)]);
  clearInterval(sampler);
  const { perSecond = 0, megabytes = 0 } = lists;
  const answerMb = megabytes / perSecond;
  const packed = await load(instance, 'gzip', forMs);
  return [
    { key: 'listRate', what: `list ${LISTED} objects of 1 KB, 4 clients`, value: megabytes, unit: 'MB/s' },
    { key: 'listOthersMedian', what: '  one object meanwhile, median', value: others['p50'] ?? 0, unit: 'ms' },
    { key: 'listOthers', what: '  one object meanwhile, p99', value: others['p99'] ?? 0, unit: 'ms' },
    {
      key: 'listMemory',
      what: '  extra memory, of the four answers',
      value: (mostMb - beforeMb) / (4 * answerMb),
      unit: '×',
    },
    {
      key: 'listGzip',
      what: '  with gzip, of the plain bytes',
      value: (packed['perSecond'] ?? 0) * answerMb,
      unit: 'MB/s',
    },
  ];
}

/** A start with 100,000 objects in the store, and the idle figures after it. */
export async function storedFigures(instance: BenchInstance): Promise<Figure[]> {
  await load(instance, 'fill', STORED);
  await instance.stop();
  await sleep(1100);
  const { apiReadyMs } = await instance.start();
  await sleep(25_000);
  const processes = await sampleProcesses({ pid: instance.pid(), dataDir: instance.dataDir }, 5000);
  return [
    { key: 'storedReady', what: `start with ${STORED} objects to API ready`, value: apiReadyMs, unit: 'ms' },
    { key: 'storedMemory', what: '  idle: memory', value: memoryTogetherMb(processes), unit: 'MB' },
  ];
}

async function load(instance: BenchInstance, scenario: string, amount: number): Promise<Record<string, number>> {
  const program = join(import.meta.dirname, 'load-client.ts');
  const text = await output(process.execPath, [program, instance.kubeconfig, scenario, String(amount)]);
  return JSON.parse(text) as Record<string, number>;
}

function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}
