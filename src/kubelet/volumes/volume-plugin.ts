/**
 * What a kind of volume must know. One folder per kind under `plugins/`, one line in `plugins/list.ts`. Upstream:
 * pkg/volume (VolumePlugin, Mounter, Unmounter).
 *
 * Differs: most plugins only bring a volume about; taking it down is the same for all (unmount what is mounted there,
 * remove what is ours), so that volumes left by an earlier process need no reconstruction of their spec. Those that others
 * mount leave a record on disk and take down by it.
 */
import type {
  CSIPersistentVolumeSource,
  FCVolumeSource,
  FlexPersistentVolumeSource,
  FlexVolumeSource,
  GlusterfsPersistentVolumeSource,
  GlusterfsVolumeSource,
  ISCSIPersistentVolumeSource,
  ISCSIVolumeSource,
  LocalVolumeSource,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  RBDPersistentVolumeSource,
  RBDVolumeSource,
  Volume,
} from '../../api/gen/core-v1.ts';
import type { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { Client } from '../../client/client.ts';
import type { Platform } from '../../platform/platform.ts';
import type { NodeFacts } from '../runtime/field-refs.ts';
import type { FlexDrivers } from './flex-drivers.ts';
import type { ObjectCache } from './object-cache.ts';
import type { ServiceAccountTokens } from './service-account-tokens.ts';
import type { VolumeUsage } from './volume-usage.ts';

/** Sources plugins read: those of pods, and those only persistent volumes have. */
export interface VolumeSource extends Pick<
  Volume,
  'configMap' | 'csi' | 'downwardAPI' | 'emptyDir' | 'gitRepo' | 'hostPath' | 'nfs' | 'projected' | 'secret'
> {
  readonly flexVolume?: FlexVolumeSource | FlexPersistentVolumeSource;
  readonly glusterfs?: GlusterfsVolumeSource | GlusterfsPersistentVolumeSource;
  readonly fc?: FCVolumeSource;
  readonly iscsi?: ISCSIVolumeSource | ISCSIPersistentVolumeSource;
  readonly rbd?: RBDVolumeSource | RBDPersistentVolumeSource;
  readonly local?: LocalVolumeSource;
  readonly persistentCsi?: CSIPersistentVolumeSource;
}

/** A volume with claims resolved. */
export interface VolumeSpec {
  /** Name in pod.spec.volumes. */
  readonly name: string;
  readonly source: VolumeSource;
  readonly readOnly: boolean;
  /** Set when it comes from a claim. */
  readonly persistentVolume?: PersistentVolume;
  readonly claim?: PersistentVolumeClaim;
}

/** One order to bring a volume about or up to date. */
export interface SetUpRequest {
  readonly pod: Pod;
  readonly spec: VolumeSpec;
  /** The volume's own directory; made by the plugin. */
  readonly dir: string;
  /** Aborts when the pod's volumes are to go: waiting for others must end. */
  readonly signal: AbortSignal;
  /** Tells that the volume waits to be attached to the node, and that it does no longer. */
  readonly attaching: (waiting: boolean) => void;
}

/** A volume that is ready. */
export interface SetUpResult {
  readonly hostPath: string;
  readonly readOnly: boolean;
  readonly selinuxRelabel: boolean;
  readonly block?: boolean;
  /** Delay until the volume must be set up again, for tokens. */
  readonly refreshAfterMs?: number;
  /** Its use as someone else measures it; undefined while that is not known. Returns at once. */
  readonly usage?: () => VolumeUsage | undefined;
}

/** Volumes that programs of others bring about and take down. */
export interface DriverVolumes {
  setUp(request: SetUpRequest): Promise<SetUpResult>;
  /** Tears down the volume of one pod in `dir`. Rejects when the driver fails; may be called again. */
  tearDown(dir: string): Promise<void>;
}

export interface VolumeSettings {
  /** Upstream's gate GitRepoVolumeDriver. */
  readonly gitRepo: boolean;
}

export interface VolumePluginDeps {
  readonly platform: Pick<Platform, 'clock' | 'random' | 'files' | 'mounter' | 'exec' | 'host' | 'log'>;
  readonly objects: ObjectCache;
  readonly tokens: ServiceAccountTokens;
  readonly node: () => NodeFacts;
  readonly csi: DriverVolumes;
  readonly client: Client;
  readonly flexDrivers: FlexDrivers;
  readonly kubeletRoot: string;
  /** By what is worked on: one task at a time. */
  readonly locks: KeyedMutex;
  readonly settings: VolumeSettings;
}

/** A volume of a pod to tear down, identified by its directory. */
export interface TearDownRequest {
  readonly dir: string;
  readonly podUid: string;
  /** The last part of `dir`. */
  readonly name: string;
}

export interface VolumePlugin {
  /** Upstream's name, e.g. `kubernetes.io/empty-dir`. */
  readonly name: string;
  supports(source: VolumeSource): boolean;
  /** `memory`: its directory is on the node's tmpfs. */
  readonly place: 'disk' | 'memory';
  /** The content is ours: removed with the volume, counted as the pod's use of the disk. */
  readonly ownsContent: boolean;
  /** Set up again when the pod or an object it refers to changed. */
  readonly live: boolean;
  /** Idempotent. Rejects with what follows `MountVolume.SetUp failed for volume "x" : `. */
  setUp(request: SetUpRequest, deps: VolumePluginDeps): Promise<SetUpResult>;
  /**
   * For kinds that others mount: takes down what is at `dir`, of this process or an earlier one, the directory included.
   * Rejects when it must be tried again.
   */
  tearDown?(request: TearDownRequest, deps: VolumePluginDeps): Promise<void>;
}
