/** Contract between the kubelet's core, its runtime manager and the volume manager. Upstream: pkg/kubelet/volumemanager. */
import type { AwaitedVolume } from '../../component-helpers/pod-node-state.ts';
import type { Pod } from '../../api/gen/core-v1.ts';

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
  /** Resolves when none of the pod's volumes is mounted any more. */
  waitForUnmount(pod: Pod, signal: AbortSignal): Promise<void>;
  /** Volumes of this pod that are ready now, by volume name. */
  mountedVolumes(podUid: string): ReadonlyMap<string, MountedVolume>;
  /** Volumes of this pod that are not ready, and why. */
  awaitedVolumes(podUid: string): readonly AwaitedVolume[];
  /** Whether anything of this pod is (or may be) still mounted or on disk. */
  podHasVolumes(podUid: string): boolean;
  /** Unique names of attached volumes that are or will be used, for node status; undefined until that is known. */
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
