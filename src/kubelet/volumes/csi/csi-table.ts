/** The node service of csi.v1 in the notation of `ProtobufTable`, from the container storage interface's csi.proto. */
import type { ProtobufTable } from '../../../grpc/protobuf-table.ts';

/** The messages, enums and methods that a kubelet uses. */
export const CSI_TABLE = {
  package: 'csi.v1',
  enums: {
    AccessMode_Mode:
      'UNKNOWN SINGLE_NODE_WRITER SINGLE_NODE_READER_ONLY MULTI_NODE_READER_ONLY MULTI_NODE_SINGLE_WRITER MULTI_NODE_MULTI_WRITER SINGLE_NODE_SINGLE_WRITER SINGLE_NODE_MULTI_WRITER',
    RPC_Type:
      'UNKNOWN STAGE_UNSTAGE_VOLUME GET_VOLUME_STATS EXPAND_VOLUME VOLUME_CONDITION SINGLE_NODE_MULTI_WRITER VOLUME_MOUNT_GROUP',
    VolumeUsage_Unit: 'UNKNOWN BYTES INODES',
  },
  messages: {
    NodeGetInfoRequest: '',
    NodeGetInfoResponse: 'node_id:1:string max_volumes_per_node:2:int64 accessible_topology:3:Topology',
    Topology: 'segments:1:map<string,string>',
    NodeGetCapabilitiesRequest: '',
    NodeGetCapabilitiesResponse: 'capabilities:1:[]NodeServiceCapability',
    NodeServiceCapability: 'rpc:1:NodeServiceCapability_RPC',
    NodeServiceCapability_RPC: 'type:1:RPC_Type',
    VolumeCapability: 'block:1:BlockVolume mount:2:MountVolume access_mode:3:AccessMode',
    BlockVolume: '',
    MountVolume: 'fs_type:1:string mount_flags:2:[]string volume_mount_group:3:string',
    AccessMode: 'mode:1:AccessMode_Mode',
    NodeStageVolumeRequest:
      'volume_id:1:string publish_context:2:map<string,string> staging_target_path:3:string volume_capability:4:VolumeCapability secrets:5:map<string,string> volume_context:6:map<string,string>',
    NodeStageVolumeResponse: '',
    NodeUnstageVolumeRequest: 'volume_id:1:string staging_target_path:2:string',
    NodeUnstageVolumeResponse: '',
    NodePublishVolumeRequest:
      'volume_id:1:string publish_context:2:map<string,string> staging_target_path:3:string target_path:4:string volume_capability:5:VolumeCapability readonly:6:bool secrets:7:map<string,string> volume_context:8:map<string,string>',
    NodePublishVolumeResponse: '',
    NodeUnpublishVolumeRequest: 'volume_id:1:string target_path:2:string',
    NodeUnpublishVolumeResponse: '',
    NodeGetVolumeStatsRequest: 'volume_id:1:string volume_path:2:string staging_target_path:3:string',
    NodeGetVolumeStatsResponse: 'usage:1:[]VolumeUsage volume_condition:2:VolumeCondition',
    VolumeUsage: 'available:1:int64 total:2:int64 used:3:int64 unit:4:VolumeUsage_Unit',
    VolumeCondition: 'abnormal:1:bool message:2:string',
    NodeExpandVolumeRequest:
      'volume_id:1:string volume_path:2:string capacity_range:3:CapacityRange staging_target_path:4:string volume_capability:5:VolumeCapability secrets:6:map<string,string>',
    CapacityRange: 'required_bytes:1:int64 limit_bytes:2:int64',
    NodeExpandVolumeResponse: 'capacity_bytes:1:int64',
  },
  services: {
    Node: {
      NodeStageVolume: 'NodeStageVolumeRequest NodeStageVolumeResponse',
      NodeUnstageVolume: 'NodeUnstageVolumeRequest NodeUnstageVolumeResponse',
      NodePublishVolume: 'NodePublishVolumeRequest NodePublishVolumeResponse',
      NodeUnpublishVolume: 'NodeUnpublishVolumeRequest NodeUnpublishVolumeResponse',
      NodeGetVolumeStats: 'NodeGetVolumeStatsRequest NodeGetVolumeStatsResponse',
      NodeExpandVolume: 'NodeExpandVolumeRequest NodeExpandVolumeResponse',
      NodeGetCapabilities: 'NodeGetCapabilitiesRequest NodeGetCapabilitiesResponse',
      NodeGetInfo: 'NodeGetInfoRequest NodeGetInfoResponse',
    },
  },
} as const satisfies ProtobufTable;
