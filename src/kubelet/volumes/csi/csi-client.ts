/**
 * Calls one CSI driver's node service. Upstream: pkg/volume/csi/csi_client.go.
 *
 * Every call times out after two minutes, as upstream, so that a hanging driver delays only its own callers.
 * Rejections are GrpcErrors.
 */
import { GrpcError } from '../../../grpc/grpc-error.ts';
import type { GrpcCaller } from '../../../grpc/grpc-caller.ts';
import type { GrpcConnector } from '../../../grpc/grpc-connector.ts';
import type { Clock } from '../../../platform/clock.ts';
import { CSI_TABLE } from './csi-table.ts';

type StringMap = Readonly<Record<string, string>>;

/** How a volume is used. */
export interface VolumeCapability {
  readonly block?: object;
  readonly mount?: {
    readonly fsType: string;
    readonly mountFlags: readonly string[];
    readonly volumeMountGroup: string;
  };
  readonly accessMode: { readonly mode: string };
}

export interface StageRequest {
  readonly volumeId: string;
  readonly publishContext: StringMap;
  readonly stagingTargetPath: string;
  readonly volumeCapability: VolumeCapability;
  readonly secrets: StringMap;
  readonly volumeContext: StringMap;
}

export interface PublishRequest extends StageRequest {
  readonly targetPath: string;
  readonly readonly: boolean;
}

export interface ExpandRequest {
  readonly volumeId: string;
  readonly volumePath: string;
  readonly stagingTargetPath: string;
  readonly capacityRange: { readonly requiredBytes: number };
  readonly volumeCapability: VolumeCapability;
  readonly secrets: StringMap;
}

export interface NodeInfo {
  readonly nodeId: string;
  /** 0: no limit. */
  readonly maxVolumesPerNode: number;
  readonly accessibleTopology?: { readonly segments: StringMap };
}

/** The usage of a volume as its driver reports it. */
export interface DriverUsage {
  readonly usage: readonly {
    readonly available: number;
    readonly total: number;
    readonly used: number;
    readonly unit: string;
  }[];
}

/** Capabilities of a node service. */
export type NodeCapability =
  | 'STAGE_UNSTAGE_VOLUME'
  | 'GET_VOLUME_STATS'
  | 'EXPAND_VOLUME'
  | 'SINGLE_NODE_MULTI_WRITER'
  | 'VOLUME_MOUNT_GROUP';

export interface CsiNodeClient {
  nodeGetInfo(): Promise<NodeInfo>;
  /** Read once: a driver whose capabilities change registers again. */
  hasCapability(capability: NodeCapability): Promise<boolean>;
  nodeStageVolume(request: StageRequest): Promise<void>;
  nodeUnstageVolume(request: { readonly volumeId: string; readonly stagingTargetPath: string }): Promise<void>;
  nodePublishVolume(request: PublishRequest): Promise<void>;
  nodeUnpublishVolume(request: { readonly volumeId: string; readonly targetPath: string }): Promise<void>;
  nodeExpandVolume(request: ExpandRequest): Promise<void>;
  nodeGetVolumeStats(request: {
    readonly volumeId: string;
    readonly volumePath: string;
    readonly stagingTargetPath: string;
  }): Promise<DriverUsage>;
  /** Closes the connection. */
  close(): void;
}

const CALL_TIMEOUT_MS = 120_000;
const SERVICE = 'csi.v1.Node';

/** Called after every call: full method name, gRPC status and duration. */
export type ObserveCall = (method: string, status: string, durationMs: number) => void;

export interface CsiNodeClientDeps {
  readonly connect: GrpcConnector;
  readonly clock: Clock;
  readonly observe: ObserveCall;
}

/** Nothing is opened before the first call. */
export function createCsiNodeClient({ connect, clock, observe }: CsiNodeClientDeps, socketPath: string): CsiNodeClient {
  const caller: GrpcCaller = connect(socketPath, [CSI_TABLE]);
  const call = async (method: keyof typeof CSI_TABLE.services.Node, request: object): Promise<object> => {
    const startMs = clock.monotonicMs();
    let status = 'OK';
    try {
      return await caller.unary({ service: SERVICE, method }, request, { timeoutMs: CALL_TIMEOUT_MS });
    } catch (error) {
      status = error instanceof GrpcError ? error.code : 'Unknown';
      throw error;
    } finally {
      observe(`/${SERVICE}/${method}`, status, clock.monotonicMs() - startMs);
    }
  };
  let capabilities: Promise<ReadonlySet<string>> | undefined;

  async function askCapabilities(): Promise<ReadonlySet<string>> {
    const answer = (await call('NodeGetCapabilities', {})) as {
      capabilities: readonly { readonly rpc?: { readonly type: string } }[];
    };
    return new Set(answer.capabilities.flatMap(({ rpc }) => (rpc === undefined ? [] : [rpc.type])));
  }

  return {
    nodeGetInfo: async () => (await call('NodeGetInfo', {})) as NodeInfo,
    async hasCapability(capability) {
      capabilities ??= askCapabilities();
      try {
        return (await capabilities).has(capability);
      } catch (error) {
        capabilities = undefined;
        throw error;
      }
    },
    nodeStageVolume: async (request) => {
      await call('NodeStageVolume', request);
    },
    nodeUnstageVolume: async (request) => {
      await call('NodeUnstageVolume', request);
    },
    nodePublishVolume: async (request) => {
      await call('NodePublishVolume', request);
    },
    nodeUnpublishVolume: async (request) => {
      await call('NodeUnpublishVolume', request);
    },
    nodeExpandVolume: async (request) => {
      await call('NodeExpandVolume', request);
    },
    nodeGetVolumeStats: async (request) => (await call('NodeGetVolumeStats', request)) as DriverUsage,
    close: () => caller.disconnect(),
  };
}
