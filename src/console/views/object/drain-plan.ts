/** What draining a node does with each pod, as kubectl with `--ignore-daemonsets` does it. Pure. */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';

/** Losses that the user must accept. */
export interface DrainOptions {
  /** `--delete-emptydir-data` */
  readonly deleteEmptyDir: boolean;
  /** `--force`: pods that no controller recreates. */
  readonly force: boolean;
}

/** `emptyDir` and `unmanaged` block the drain until the user accepts the loss. */
export type DrainAction = 'evict' | 'daemonSet' | 'mirror' | 'emptyDir' | 'unmanaged';

const MIRROR = 'kubernetes.io/config.mirror';

export function drainAction(pod: Stored<Pod>, { deleteEmptyDir, force }: DrainOptions): DrainAction {
  const { annotations = {}, ownerReferences = [] } = pod.metadata;
  if (MIRROR in annotations) return 'mirror';
  const controller = ownerReferences.find((owner) => owner.controller === true);
  const phase = pod.status?.phase;
  // A pod that has ended loses nothing.
  if (phase === 'Succeeded' || phase === 'Failed') return 'evict';
  if (controller?.kind === 'DaemonSet') return 'daemonSet';
  if (controller === undefined && !force) return 'unmanaged';
  if (usesEmptyDir(pod) && !deleteEmptyDir) return 'emptyDir';
  return 'evict';
}

/** The number of pods that each option concerns. */
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
