/**
 * What a kind of volume must know. One folder per kind under `plugins/`, one line in `plugins/list.ts`. Upstream:
 * pkg/volume (VolumePlugin, Mounter, Unmounter).
 *
 * Differs: a plugin only brings a volume about; taking it down is the same for all (unmount what is mounted there, remove
 * what is ours), so that volumes left by an earlier process need no reconstruction of their spec.
 */
import type { LocalVolumeSource, PersistentVolume, Pod, Volume } from '../../api/gen/core-v1.ts';
import type { Platform } from '../../platform/platform.ts';
import type { NodeFacts } from '../runtime/field-refs.ts';
import type { ObjectCache } from './object-cache.ts';
import type { ServiceAccountTokens } from './service-account-tokens.ts';

/** Sources plugins read: those of pods, and those only persistent volumes have. */
export interface VolumeSource extends Pick<
  Volume,
  'configMap' | 'downwardAPI' | 'emptyDir' | 'hostPath' | 'nfs' | 'projected' | 'secret'
> {
  readonly local?: LocalVolumeSource;
}

/** A volume with claims resolved. */
export interface VolumeSpec {
  /** Name in pod.spec.volumes. */
  readonly name: string;
  readonly source: VolumeSource;
  readonly readOnly: boolean;
  /** Set when it comes from a claim. */
  readonly persistentVolume?: PersistentVolume;
}

/** One order to bring a volume about or up to date. */
export interface SetUpRequest {
  readonly pod: Pod;
  readonly spec: VolumeSpec;
  /** The volume's own directory; made by the plugin. */
  readonly dir: string;
}

/** A volume that is ready. */
export interface SetUpResult {
  readonly hostPath: string;
  readonly readOnly: boolean;
  readonly selinuxRelabel: boolean;
  readonly block?: boolean;
  /** Set up again after so long (tokens). */
  readonly refreshAfterMs?: number;
}

/** What plugins use. */
export interface VolumePluginDeps {
  readonly platform: Pick<Platform, 'clock' | 'random' | 'files' | 'mounter' | 'exec' | 'host' | 'log'>;
  readonly objects: ObjectCache;
  readonly tokens: ServiceAccountTokens;
  readonly node: () => NodeFacts;
}

/** A kind of volume. */
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
}
