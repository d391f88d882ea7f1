/**
 * How many connections a server accepts: some of the process's file descriptors are reserved for files and outgoing
 * calls, and one address cannot use all of the others.
 */
import { readFileSync } from 'node:fs';
import type { ConnectionLimits } from '../../base/connection-count.ts';

const ASSUMED_DESCRIPTORS = 4096;

/** Three quarters of the descriptors, half of these for one address. */
export function connectionLimits(limits: string): ConnectionLimits {
  const soft = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? ASSUMED_DESCRIPTORS);
  const total = Math.floor((soft * 3) / 4);
  return { total, ofOneAddress: Math.ceil(total / 2) };
}

/** Connection limits from the open-file limit of this process. */
export function ownConnectionLimits(): ConnectionLimits {
  try {
    return connectionLimits(readFileSync('/proc/self/limits', 'utf8'));
  } catch {
    return connectionLimits(''); // another operating system
  }
}
