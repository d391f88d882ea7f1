/** What draining a node does to each of its pods, as kubectl with `--ignore-daemonsets` does it. Pure. */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';

/** Losses that must be agreed to. */
export interface DrainOptions {
  /** `--delete-emptydir-data` */
  readonly deleteEmptyDir: boolean;
  /** `--force`: pods that no controller brings back. */
  readonly force: boolean;
}

/** `emptyDir` and `unmanaged` are in the way until they are agreed to. */
export type DrainAction = 'evict' | 'daemonSet' | 'mirror' | 'emptyDir' | 'unmanaged';

const MIRROR = 'kubernetes.io/config.mirror';

export function drainAction(pod: Stored<Pod>, { deleteEmptyDir, force }: DrainOptions): DrainAction {
  const { annotations = {}, ownerReferences = [] } = pod.metadata;
  if (MIRROR in annotations) return 'mirror';
  const controller = ownerReferences.find((owner) => owner.controller === true);
  const phase = pod.status?.phase;
  // What has ended has nothing to lose.
  if (phase === 'Succeeded' || phase === 'Failed') return 'evict';
  if (controller?.kind === 'DaemonSet') return 'daemonSet';
  if (controller === undefined && !force) return 'unmanaged';
  if (usesEmptyDir(pod) && !deleteEmptyDir) return 'emptyDir';
  return 'evict';
}

/** How many pods each option is about. */
export function drainLosses(pods: readonly Stored<Pod>[]): { readonly emptyDir: number; readonly unmanaged: number } {
  const careful = pods.map((pod) => drainAction(pod, { deleteEmptyDir: false, force: false }));
  const forced = pods.map((pod) => drainAction(pod, { deleteEmptyDir: false, force: true }));
  return {
    emptyDir: forced.filter((action) => action === 'emptyDir').length,
    unmanaged: careful.filter((action) => action === 'unmanaged').length,
  };
}

export function drainCommand(node: string, { deleteEmptyDir, force }: DrainOptions): string {
  const flags = [
    '--ignore-daemonsets',
    ...(deleteEmptyDir ? ['--delete-emptydir-data'] : []),
    ...(force ? ['--force'] : []),
  ];
  return `kubectl drain ${node} ${flags.join(' ')}`;
}

function usesEmptyDir({ spec }: Pod): boolean {
  return (spec?.volumes ?? []).some(({ emptyDir }) => emptyDir !== undefined);
}
