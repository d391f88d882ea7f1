/** The volume manager as the kubelet's core and its runtime manager use it. Upstream: pkg/kubelet/volumemanager. */
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import type { Client } from '../../client/client.ts';
import type { AwaitedVolume } from '../../api/pod-node-state.ts';
import type { GrpcConnector } from '../../grpc/grpc-connector.ts';
import type { Platform } from '../../platform/platform.ts';
import type { KubeletEventRecorder } from '../event-reasons.ts';
import type { PluginManager } from '../plugin-manager/plugin-manager.ts';
import type { NodeFacts } from '../runtime/field-refs.ts';
import type { ObjectCache } from './object-cache.ts';
import type { TokenRequester } from './service-account-tokens.ts';
import type { VolumeSettings } from './volume-plugin.ts';

/** A volume that is ready on the host for one pod. */
export interface MountedVolume {
  /** Name in pod.spec.volumes. */
  readonly name: string;
  /** Directory (or file for hostPath files, or device for block volumes) on the host. */
  readonly hostPath: string;
  readonly readOnly: boolean;
  readonly selinuxRelabel: boolean;
  readonly block: boolean;
}

/** Keeps volumes mounted for the pods that need them. */
export interface VolumeManager {
  /** Starts the reconciler and the reconstruction from disk. */
  start(signal: AbortSignal): void;
  /** Resolves when all volumes of the pod are ready. Rejects after upstream's 2 min 3 s or on abort; the error names the unmounted volumes as FailedMount does. */
  waitForAttachAndMount(pod: Pod, signal: AbortSignal): Promise<void>;
  /** Resolves when no volume of the pod is mounted any more. */
  waitForUnmount(pod: Pod, signal: AbortSignal): Promise<void>;
  /** Volumes of this pod that are ready now, by volume name. */
  mountedVolumes(podUid: string): ReadonlyMap<string, MountedVolume>;
  /** Volumes of this pod that are not ready, and why. */
  awaitedVolumes(podUid: string): readonly AwaitedVolume[];
  /** Whether anything of this pod is (or may be) still mounted or on disk. */
  podHasVolumes(podUid: string): boolean;
  /** Unique names of attached volumes that are or will be in use, for node status; undefined while unknown. */
  volumesInUse(): readonly string[] | undefined;
  /** Bytes used by the pod's volumes kept on the node's disk, by volume name. */
  volumeStats(podUid: string): Promise<
    ReadonlyMap<
      string,
      {
        usedBytes: number;
        capacityBytes: number;
        availableBytes: number;
        inodes: number;
        inodesUsed: number;
        inodesFree: number;
      }
    >
  >;
}

export interface VolumeManagerDeps {
  readonly platform: Pick<
    Platform,
    'clock' | 'random' | 'crypto' | 'files' | 'mounter' | 'exec' | 'host' | 'log' | 'metrics'
  >;
  readonly client: Client;
  readonly objects: ObjectCache;
  readonly requestToken: TokenRequester;
  readonly recorder: KubeletEventRecorder;
  /** Pods whose volumes must stay: those whose containers run or may run. */
  readonly podsLister: () => readonly Pod[];
  /** Whether `podsLister` has the pods of every source. No volume is swept before. */
  readonly sourcesReady: () => boolean;
  readonly node: () => NodeFacts;
  readonly ownNode: () => Node | undefined;
  /** Updates the node's status, since the volumes in use have changed. */
  readonly nodeStatusChanged: () => void;
  /** CSI drivers register here. */
  readonly plugins: Pick<PluginManager, 'addHandler'>;
  readonly connectGrpc: GrpcConnector;
}

export interface VolumeManagerConfig {
  /** Upstream's --root-dir, `/var/lib/kubelet`. */
  readonly kubeletRoot: string;
  readonly nodeName: string;
  /** The kubelet creates VolumeAttachments itself, in place of the controller. */
  readonly attachesItself: boolean;
  readonly settings: VolumeSettings & { readonly pluginDir: string };
}
