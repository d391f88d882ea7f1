import type { ClusterStatus } from './cluster-status.ts';

/** Memory of this process, as a status shows it. */
export function processMemory(): Pick<ClusterStatus, 'memoryBytes' | 'aliveMemoryBytes'> {
  const { rss, heapUsed, external } = process.memoryUsage();
  return { memoryBytes: rss, aliveMemoryBytes: heapUsed + external };
}
