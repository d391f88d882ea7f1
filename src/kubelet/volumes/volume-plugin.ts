/**
 * The interface of a kind of volume. Each has a folder under `plugins/` and a line in `plugins/list.ts`. Upstream:
 * pkg/volume (VolumePlugin, Mounter, Unmounter).
 *
 * Differs: most plugins only set volumes up; tearing down is the same for all (unmount, then remove our own content),
 * so volumes of an earlier process need no reconstruction of their spec. Plugins with mounts of other programs write
 * a record to disk and tear down by it.
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

/** The volume sources that plugins read: those of pods, and those that only persistent volumes have. */
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

/** A request to set a volume up or to update it. */
export interface SetUpRequest {
  readonly pod: Pod;
  readonly spec: VolumeSpec;
  /** The volume's own directory; the plugin creates it. */
  readonly dir: string;
  /** Aborts when the pod's volumes are torn down: waits must end. */
  readonly signal: AbortSignal;
  /** Reports that the volume waits to be attached, and that the wait has ended. */
  readonly attaching: (waiting: boolean) => void;
}

/** A volume that is ready. */
export interface SetUpResult {
  readonly hostPath: string;
  readonly readOnly: boolean;
  readonly selinuxRelabel: boolean;
  readonly block?: boolean;
  /** The delay until the volume must be set up again, for tokens. */
  readonly refreshAfterMs?: number;
  /** The usage that somebody else measures; undefined while unknown. Returns at once. */
  readonly usage?: () => VolumeUsage | undefined;
}

/** Volumes that external programs set up and tear down. */
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
  /** One task at a time for each key. */
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
  /** The content is the kubelet's: it is removed with the volume and counts as the pod's disk usage. */
  readonly ownsContent: boolean;
  /** Set up again when the pod or an object it refers to changes. */
  readonly live: boolean;
  /** Idempotent. Rejects with the text after `MountVolume.SetUp failed for volume "x" : `. */
  setUp(request: SetUpRequest, deps: VolumePluginDeps): Promise<SetUpResult>;
  /**
   * For plugins with mounts of other programs: tears down `dir`, also that of an earlier process, and removes it.
   * Rejects when it must be retried.
   */
  tearDown?(request: TearDownRequest, deps: VolumePluginDeps): Promise<void>;
}
