/** The plugin registration service of a plugin's socket. Upstream: k8s.io/kubelet/pkg/apis/pluginregistration/v1. */
import type { GrpcCaller } from '../../grpc/grpc-caller.ts';
import type { ProtobufTable } from '../../grpc/protobuf-table.ts';

/** `pluginregistration.Registration` in the notation of `ProtobufTable`. */
export const registrationTable = {
  package: 'pluginregistration',
  enums: {},
  messages: {
    PluginInfo: 'type:1:string name:2:string endpoint:3:string supported_versions:4:[]string',
    RegistrationStatus: 'plugin_registered:1:bool error:2:string',
    RegistrationStatusResponse: '',
    InfoRequest: '',
  },
  services: {
    Registration: {
      GetInfo: 'InfoRequest PluginInfo',
      NotifyRegistrationStatus: 'RegistrationStatus RegistrationStatusResponse',
    },
  },
} as const satisfies ProtobufTable;

interface PluginInfo {
  /** `CSIPlugin`, `DRAPlugin`, `DevicePlugin`. */
  readonly type: string;
  readonly name: string;
  /** The socket of its service; empty: the one it registers through. */
  readonly endpoint: string;
  readonly supportedVersions: readonly string[];
}

const SERVICE = 'pluginregistration.Registration';
/** Upstream's deadline. A plugin that does not answer GetInfo in time is called again later. */
const INFO_TIMEOUT_MS = 1000;
const NOTIFY_TIMEOUT_MS = 10_000;

/** Reads the plugin's type, name and versions. Rejects with a GrpcError or the abort's reason. */
export async function getPluginInfo(caller: GrpcCaller, signal: AbortSignal): Promise<PluginInfo> {
  const method = { service: SERVICE, method: 'GetInfo' };
  return (await caller.unary(method, {}, { signal, timeoutMs: INFO_TIMEOUT_MS })) as PluginInfo;
}

/** Notifies the plugin whether it is registered; `error`: why not. */
export async function notifyRegistrationStatus(
  caller: GrpcCaller,
  error: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  const method = { service: SERVICE, method: 'NotifyRegistrationStatus' };
  const status = { pluginRegistered: error === undefined, error: error ?? '' };
  await caller.unary(method, status, { signal, timeoutMs: NOTIFY_TIMEOUT_MS });
}
