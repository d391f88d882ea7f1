/** The dependencies and settings that the parts of the CSI plugin share. */
import type { Node } from '../../../api/gen/core-v1.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Client } from '../../../client/client.ts';
import type { KubeletEventRecorder } from '../../event-reasons.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { ServiceAccountTokens } from '../service-account-tokens.ts';
import type { CsiDrivers } from './csi-drivers.ts';
import type { CsiRecords } from './csi-records.ts';

/** Shared by all volumes and drivers. */
export interface CsiContext {
  readonly platform: Pick<Platform, 'clock' | 'random' | 'crypto' | 'files' | 'mounter' | 'exec' | 'log'>;
  readonly client: Client;
  readonly recorder: KubeletEventRecorder;
  readonly tokens: ServiceAccountTokens;
  readonly drivers: CsiDrivers;
  readonly records: CsiRecords;
  readonly nodeName: string;
  /** The newest Node object. */
  readonly ownNode: () => Node | undefined;
  /** The kubelet creates VolumeAttachments itself, as no controller attaches this node's volumes. */
  readonly attachesItself: boolean;
}

/** A driver could not stage the volume on the node. Upstream: MountVolume.MountDevice failures. */
export class MountDeviceError extends Error {
  constructor(cause: unknown) {
    super(errorMessage(cause), { cause });
    this.name = 'MountDeviceError';
  }
}
