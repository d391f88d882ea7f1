/**
 * Applies the CPU manager's assignments to running containers: the shared CPUs change when other containers start and
 * end. Upstream: reconcileState in cpumanager/cpu_manager.go. Differs: it also runs at once after a change.
 */
import { onAbort } from '../../base/abort.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { PodStatus } from '../container/runtime.ts';
import { podFields, podUid } from '../types/pod-update.ts';
import type { CpuManager } from './cpu-manager.ts';
import { formatCpuSet } from './cpu-set.ts';
import { background } from '../../platform/unexpected.ts';

export interface CpuReconcilerDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly cpuManager: CpuManager;
  readonly pods: () => readonly Pod[];
  readonly podStatus: (uid: string) => PodStatus | undefined;
  /** Frees the processors of pods that are gone. */
  readonly release: () => Promise<void>;
}

/** Changes the CPUs of a container. Upstream: UpdateContainerResources of the runtime service. */
export type UpdateCpuset = (containerId: string, cpusetCpus: string) => Promise<void>;

export interface CpuReconciler {
  start(updateCpuset: UpdateCpuset, signal: AbortSignal): void;
  /** Reconciles now: assignments may have changed. */
  trigger(): void;
  /** Records that the container is created with these CPUs, so that it needs no update. */
  containerCreated(podUid: string, container: string, cpus: string): void;
}

export function createCpuReconciler(deps: CpuReconcilerDeps, periodMs: number): CpuReconciler {
  const applied = new Map<string, string>();
  let running = false;
  let again = false;
  let lifetime: AbortSignal | undefined;
  let updateCpuset: UpdateCpuset | undefined;

  async function reconcilePod(pod: Pod): Promise<void> {
    const uid = podUid(pod);
    for (const { id, name, state } of deps.podStatus(uid)?.containers ?? []) {
      if (state !== 'running') continue;
      const wanted = formatCpuSet(deps.cpuManager.cpusOf(uid, name));
      const key = `${uid}/${name}`;
      if (wanted === '' || applied.get(key) === wanted) continue;
      try {
        await updateCpuset?.(id, wanted);
        applied.set(key, wanted);
        deps.log.debug('Updated the processors of a container', { ...podFields(pod), container: name, cpus: wanted });
      } catch (error) {
        deps.log.error('Failed to update container', { ...podFields(pod), container: name, cpus: wanted, err: error });
      }
    }
  }

  async function reconcile(): Promise<void> {
    running = true;
    try {
      do {
        again = false;
        await deps.release();
        const pods = deps.pods();
        const uids = new Set(pods.map(podUid));
        for (const key of applied.keys()) if (!uids.has(key.split('/')[0]!)) applied.delete(key);
        for (const pod of pods) await reconcilePod(pod);
      } while (again);
    } catch (error) {
      deps.log.error('Reconciling processors failed', { err: error });
    } finally {
      running = false;
    }
  }

  function trigger(): void {
    if (lifetime === undefined || lifetime.aborted) return;
    if (running) again = true;
    else background(deps.log, 'processors could not be reconciled', reconcile());
  }

  return {
    trigger,
    containerCreated: (uid, container, cpus) => applied.set(`${uid}/${container}`, cpus),
    start(update, signal) {
      updateCpuset = update;
      lifetime = signal;
      onAbort(signal, deps.clock.setTicker(periodMs, trigger));
    },
  };
}
