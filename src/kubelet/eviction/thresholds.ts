/**
 * Eviction thresholds and the observations of their signals. Pure. Upstream: pkg/kubelet/eviction/helpers.go and
 * api/types.go.
 */
import { quantityValue } from '../../api/quantity.ts';
import type { KubeletConfiguration } from '../kubelet-configuration.ts';
import type { NodeStats } from '../stats/summary-types.ts';

export type Signal =
  | 'memory.available'
  | 'allocatableMemory.available'
  | 'nodefs.available'
  | 'nodefs.inodesFree'
  | 'imagefs.available'
  | 'imagefs.inodesFree'
  | 'containerfs.available'
  | 'containerfs.inodesFree'
  | 'pid.available';

/** A condition of the node that a met threshold sets. */
export type PressureCondition = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure';

/** The resource of a signal, as messages and ranking name it. */
export type StarvedResource = 'memory' | 'ephemeral-storage' | 'inodes' | 'pids';

const MEMORY = { condition: 'MemoryPressure', resource: 'memory' } as const;
const DISK = { condition: 'DiskPressure', resource: 'ephemeral-storage' } as const;
const INODES = { condition: 'DiskPressure', resource: 'inodes' } as const;

/** Condition and resource by signal. */
export const SIGNALS: Readonly<Record<Signal, { condition: PressureCondition; resource: StarvedResource }>> = {
  'memory.available': MEMORY,
  'allocatableMemory.available': MEMORY,
  'nodefs.available': DISK,
  'nodefs.inodesFree': INODES,
  'imagefs.available': DISK,
  'imagefs.inodesFree': INODES,
  'containerfs.available': DISK,
  'containerfs.inodesFree': INODES,
  'pid.available': { condition: 'PIDPressure', resource: 'pids' },
};

/** An amount: in units, or as a share of the capacity between 0 and 1. */
export type Amount = { readonly units: number } | { readonly share: number };

export interface Threshold {
  readonly signal: Signal;
  readonly value: Amount;
  /** 0: hard. */
  readonly gracePeriodMs: number;
  readonly hard: boolean;
  /** How far usage must drop below the threshold before it counts as resolved. */
  readonly minReclaim: Amount | undefined;
}

/** The available amount of a signal's resource. */
export interface Observation {
  readonly available: number;
  readonly capacity: number;
}

export type Observations = ReadonlyMap<Signal, Observation>;

function amountOf(text: string): Amount {
  return text.endsWith('%') ? { share: Number(text.slice(0, -1)) / 100 } : { units: quantityValue(text) };
}

/** The amount in units, for a resource of this capacity. */
export function unitsOf(amount: Amount, capacity: number): number {
  return 'units' in amount ? amount.units : Math.floor(capacity * amount.share);
}

type Settings = Pick<KubeletConfiguration, 'evictionHard' | 'eviction' | 'cgroups'>;

/** The configured thresholds, hard ones first. Those of zero per cent are off. */
export function thresholdsOf({ evictionHard, eviction, cgroups }: Settings): Threshold[] {
  const { soft, softGracePeriodMs, minimumReclaim } = eviction;
  const one = (signal: string, text: string, hard: boolean): Threshold[] => {
    const value = amountOf(text);
    if ('share' in value && value.share === 0) return [];
    const reclaim = minimumReclaim[signal];
    return [
      {
        signal: signal as Signal,
        value,
        hard,
        gracePeriodMs: hard ? 0 : (softGracePeriodMs[signal] ?? 0),
        minReclaim: reclaim === undefined ? undefined : amountOf(reclaim),
      },
    ];
  };
  const all = [
    ...Object.entries(evictionHard).flatMap(([signal, text]) => one(signal, text, true)),
    ...Object.entries(soft).flatMap(([signal, text]) => one(signal, text, false)),
  ];
  if (!cgroups.enforceNodeAllocatable.includes('pods')) return all;
  // The same hard threshold applies to the usage of all pods against their allocatable memory.
  const allocatable = all.flatMap((threshold): Threshold[] =>
    threshold.hard && threshold.signal === 'memory.available'
      ? [{ ...threshold, signal: 'allocatableMemory.available' }]
      : [],
  );
  return [...all, ...allocatable];
}

/** The observation of each signal by the node's statistics. A signal without statistics meets no threshold. */
export function observe(node: NodeStats, allocatableMemoryBytes: number): Observations {
  const found = new Map<Signal, Observation>();
  const note = (signal: Signal, available: number | undefined, capacity: number | undefined): void => {
    if (available !== undefined && capacity !== undefined && capacity > 0) found.set(signal, { available, capacity });
  };
  const { memory, fs, runtime, rlimit, systemContainers } = node;
  const working = memory?.workingSetBytes;
  if (working !== undefined && memory?.availableBytes !== undefined)
    note('memory.available', memory.availableBytes, memory.availableBytes + working);
  const pods = systemContainers?.find(({ name }) => name === 'pods')?.memory?.workingSetBytes;
  if (pods !== undefined) note('allocatableMemory.available', allocatableMemoryBytes - pods, allocatableMemoryBytes);
  note('nodefs.available', fs?.availableBytes, fs?.capacityBytes);
  note('nodefs.inodesFree', fs?.inodesFree, fs?.inodes);
  note('imagefs.available', runtime?.imageFs?.availableBytes, runtime?.imageFs?.capacityBytes);
  note('imagefs.inodesFree', runtime?.imageFs?.inodesFree, runtime?.imageFs?.inodes);
  note('containerfs.available', runtime?.containerFs?.availableBytes, runtime?.containerFs?.capacityBytes);
  note('containerfs.inodesFree', runtime?.containerFs?.inodesFree, runtime?.containerFs?.inodes);
  if (rlimit?.maxpid !== undefined && rlimit.curproc !== undefined)
    note('pid.available', rlimit.maxpid - rlimit.curproc, rlimit.maxpid);
  return found;
}

/** Thresholds that are met; with `enforceMinReclaim`, those whose minimum reclaim is not reached. */
export function thresholdsMet(
  thresholds: readonly Threshold[],
  observations: Observations,
  enforceMinReclaim: boolean,
): Threshold[] {
  return thresholds.filter(({ signal, value, minReclaim }) => {
    const seen = observations.get(signal);
    if (seen === undefined) return false;
    const reclaim = enforceMinReclaim && minReclaim !== undefined ? unitsOf(minReclaim, seen.capacity) : 0;
    return seen.available < unitsOf(value, seen.capacity) + reclaim;
  });
}
