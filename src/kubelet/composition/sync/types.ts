/**
 * Sync: the loop, its handlers and the sync of one pod. Needs all other subjects but the server.
 * Binds the late `podSyncer`.
 */
import type { SyncHandler, SyncLoop } from '../../sync-loop/sync-loop.ts';
import type { KubeletContext } from '../context.ts';
import type { KubeletNode } from '../node/types.ts';
import type { KubeletPods } from '../pods/types.ts';
import type { KubeletResources } from '../resources/types.ts';
import type { KubeletRuntime } from '../runtime/types.ts';
import type { KubeletStatus } from '../status/types.ts';
import type { KubeletVolumes } from '../volumes/types.ts';

export interface KubeletSyncDeps {
  readonly context: KubeletContext;
  readonly pods: KubeletPods;
  readonly resources: KubeletResources;
  readonly volumes: KubeletVolumes;
  readonly runtime: KubeletRuntime;
  readonly status: KubeletStatus;
  readonly node: KubeletNode;
}

export interface KubeletSync {
  /** Handles the messages of the channels. */
  readonly syncLoop: SyncLoop;
  /** Admits pods and wakes their workers. */
  readonly syncHandler: SyncHandler;
}
