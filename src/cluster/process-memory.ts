import type { InstanceStatus } from './cluster-status.ts';

/** Memory of this process, as a status shows it. */
export function processMemory(): Pick<InstanceStatus, 'memoryBytes' | 'aliveMemoryBytes'> {
  const { rss, heapUsed, external } = process.memoryUsage();
  return { memoryBytes: rss, aliveMemoryBytes: heapUsed + external };
}
