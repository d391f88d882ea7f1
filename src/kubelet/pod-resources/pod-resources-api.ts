/** The pod resources API, v1. Upstream: k8s.io/kubelet/pkg/apis/podresources/v1. */
import type { ProtobufTable } from '../../grpc/protobuf-table.ts';

/** Messages and methods. */
export const podResourcesTable = {
  package: 'v1',
  enums: {},
  messages: {
    AllocatableResourcesRequest: '',
    AllocatableResourcesResponse: 'devices:1:[]ContainerDevices cpu_ids:2:[]int64 memory:3:[]ContainerMemory',
    ListPodResourcesRequest: '',
    ListPodResourcesResponse: 'pod_resources:1:[]PodResources',
    PodResources: 'name:1:string namespace:2:string containers:3:[]ContainerResources',
    ContainerResources:
      'name:1:string devices:2:[]ContainerDevices cpu_ids:3:[]int64 memory:4:[]ContainerMemory dynamic_resources:5:[]DynamicResource',
    ContainerMemory: 'memory_type:1:string size:2:uint64 topology:3:TopologyInfo',
    ContainerDevices: 'resource_name:1:string device_ids:2:[]string topology:3:TopologyInfo',
    TopologyInfo: 'nodes:1:[]NUMANode',
    NUMANode: 'ID:1:int64',
    DynamicResource: 'claim_name:2:string claim_namespace:3:string claim_resources:4:[]ClaimResource',
    ClaimResource: 'cdi_devices:1:[]CDIDevice driver_name:2:string pool_name:3:string device_name:4:string',
    CDIDevice: 'name:1:string',
    GetPodResourcesRequest: 'pod_name:1:string pod_namespace:2:string',
    GetPodResourcesResponse: 'pod_resources:1:PodResources',
  },
  services: {
    PodResourcesLister: {
      List: 'ListPodResourcesRequest ListPodResourcesResponse',
      GetAllocatableResources: 'AllocatableResourcesRequest AllocatableResourcesResponse',
      Get: 'GetPodResourcesRequest GetPodResourcesResponse',
    },
  },
} as const satisfies ProtobufTable;

/** The NUMA nodes of a resource; absent: it belongs to none. */
export interface NodesOf {
  readonly topology?: { readonly nodes: readonly { readonly ID: number }[] };
}

/** Devices of one resource. */
export interface ContainerDevicesMessage extends NodesOf {
  readonly resourceName: string;
  readonly deviceIds: readonly string[];
}

/** Memory of one kind. */
export interface ContainerMemoryMessage extends NodesOf {
  readonly memoryType: string;
  readonly size: number;
}
