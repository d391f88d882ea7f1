/** The device plugin API, v1beta1, both sides of it. Upstream: k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1. */
import type { ProtobufTable } from '../../grpc/protobuf-table.ts';

/** Messages and methods. */
export const devicePluginTable = {
  package: 'v1beta1',
  enums: {},
  messages: {
    Empty: '',
    DevicePluginOptions: 'pre_start_required:1:bool get_preferred_allocation_available:2:bool',
    RegisterRequest: 'version:1:string endpoint:2:string resource_name:3:string options:4:DevicePluginOptions',
    ListAndWatchResponse: 'devices:1:[]Device',
    TopologyInfo: 'nodes:1:[]NUMANode',
    NUMANode: 'ID:1:int64',
    Device: 'ID:1:string health:2:string topology:3:TopologyInfo',
    PreStartContainerRequest: 'devices_ids:1:[]string',
    PreStartContainerResponse: '',
    ContainerPreferredAllocationRequest:
      'available_deviceIDs:1:[]string must_include_deviceIDs:2:[]string allocation_size:3:int32',
    PreferredAllocationRequest: 'container_requests:1:[]ContainerPreferredAllocationRequest',
    ContainerPreferredAllocationResponse: 'deviceIDs:1:[]string',
    PreferredAllocationResponse: 'container_responses:1:[]ContainerPreferredAllocationResponse',
    ContainerAllocateRequest: 'devices_ids:1:[]string',
    AllocateRequest: 'container_requests:1:[]ContainerAllocateRequest',
    CDIDevice: 'name:1:string',
    Mount: 'container_path:1:string host_path:2:string read_only:3:bool',
    DeviceSpec: 'container_path:1:string host_path:2:string permissions:3:string',
    ContainerAllocateResponse:
      'envs:1:map<string,string> mounts:2:[]Mount devices:3:[]DeviceSpec annotations:4:map<string,string> cdi_devices:5:[]CDIDevice',
    AllocateResponse: 'container_responses:1:[]ContainerAllocateResponse',
  },
  services: {
    Registration: { Register: 'RegisterRequest Empty' },
    DevicePlugin: {
      GetDevicePluginOptions: 'Empty DevicePluginOptions',
      ListAndWatch: 'Empty stream ListAndWatchResponse',
      GetPreferredAllocation: 'PreferredAllocationRequest PreferredAllocationResponse',
      Allocate: 'AllocateRequest AllocateResponse',
      PreStartContainer: 'PreStartContainerRequest PreStartContainerResponse',
    },
  },
} as const satisfies ProtobufTable;

export interface DevicePluginOptions {
  readonly preStartRequired: boolean;
  readonly getPreferredAllocationAvailable: boolean;
}

/** A plugin's registration. */
export interface RegisterRequest {
  readonly version: string;
  /** Name of the plugin's socket in the device plugin directory. */
  readonly endpoint: string;
  readonly resourceName: string;
  readonly options?: DevicePluginOptions;
}

export interface PluginDevice {
  readonly ID: string;
  /** `Healthy` or `Unhealthy`. */
  readonly health: string;
  readonly topology?: { readonly nodes: readonly { readonly ID: number }[] };
}

/** The settings that a plugin adds to a container with its devices. */
export interface ContainerAllocateResponse {
  readonly envs: Readonly<Record<string, string>>;
  readonly mounts: readonly { readonly containerPath: string; readonly hostPath: string; readonly readOnly: boolean }[];
  readonly devices: readonly {
    readonly containerPath: string;
    readonly hostPath: string;
    readonly permissions: string;
  }[];
  readonly annotations: Readonly<Record<string, string>>;
  readonly cdiDevices: readonly { readonly name: string }[];
}
