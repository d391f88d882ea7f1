/** The subjects of the composition, in the order in which they are created: each needs only those above it. */
import type { KubeletCore } from '../kubelet-contract.ts';
import type { KubeletContext } from './context.ts';
import type { KubeletNode } from './node/types.ts';
import type { KubeletPods } from './pods/types.ts';
import type { KubeletResources } from './resources/types.ts';
import type { KubeletRuntime } from './runtime/types.ts';
import type { KubeletServer } from './server/types.ts';
import type { KubeletStatus } from './status/types.ts';
import type { KubeletSync } from './sync/types.ts';
import type { KubeletVolumes } from './volumes/types.ts';

export interface KubeletSubjects {
  readonly context: KubeletContext;
  readonly pods: KubeletPods;
  readonly resources: KubeletResources;
  readonly core: KubeletCore;
  readonly volumes: KubeletVolumes;
  readonly runtime: KubeletRuntime;
  readonly status: KubeletStatus;
  readonly node: KubeletNode;
  readonly sync: KubeletSync;
  readonly server: KubeletServer;
}
