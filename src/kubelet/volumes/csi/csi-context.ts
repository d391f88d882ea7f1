/** What the parts of the CSI plugin work with. */
import type { Node } from '../../../api/gen/core-v1.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Client } from '../../../client/client.ts';
import type { KubeletEventRecorder } from '../../event-reasons.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { ServiceAccountTokens } from '../service-account-tokens.ts';
import type { CsiDrivers } from './csi-drivers.ts';
import type { CsiRecords } from './csi-records.ts';

/** Dependencies and settings. */
export interface CsiContext {
  readonly platform: Pick<Platform, 'clock' | 'random' | 'crypto' | 'files' | 'mounter' | 'exec' | 'log'>;
  readonly client: Client;
  readonly recorder: KubeletEventRecorder;
  readonly tokens: ServiceAccountTokens;
  readonly drivers: CsiDrivers;
  readonly records: CsiRecords;
  readonly nodeName: string;
  /** The node's object as known now. */
  readonly ownNode: () => Node | undefined;
  /** No controller attaches volumes to this node: the kubelet asks for it itself. */
  readonly attachesItself: boolean;
}

/** A driver could not make the volume ready for the node, before any pod. Upstream: MountVolume.MountDevice failures. */
export class MountDeviceError extends Error {
  constructor(cause: unknown) {
    super(errorMessage(cause), { cause });
    this.name = 'MountDeviceError';
  }
}
