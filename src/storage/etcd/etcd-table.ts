/** The used part of etcd v3's gRPC API, in the notation of `grpc/protobuf-table.ts`. Upstream: etcdserverpb, mvccpb. */
import type { ProtobufTable } from '../../grpc/protobuf-table.ts';

/** Keys, values and changes. */
export const mvccTable = {
  package: 'mvccpb',
  enums: { EventType: 'PUT DELETE' },
  messages: {
    KeyValue: 'key:1:bytes create_revision:2:int64 mod_revision:3:int64 version:4:int64 value:5:bytes',
    Event: 'type:1:EventType kv:2:KeyValue',
  },
  services: {},
} as const satisfies ProtobufTable;

/** The services. A `oneof` is written as its members: exactly one of them is set. */
export const ETCD_TABLE = {
  package: 'etcdserverpb',
  enums: { CompareResult: 'EQUAL GREATER LESS NOT_EQUAL', CompareTarget: 'VERSION CREATE MOD VALUE LEASE' },
  messages: {
    ResponseHeader: 'revision:3:int64',
    RangeRequest:
      'key:1:bytes range_end:2:bytes limit:3:int64 revision:4:int64 serializable:7:bool keys_only:8:bool count_only:9:bool',
    RangeResponse: 'header:1:ResponseHeader kvs:2:[].mvccpb.KeyValue more:3:bool count:4:int64',
    PutRequest: 'key:1:bytes value:2:bytes lease:3:int64',
    PutResponse: 'header:1:ResponseHeader',
    DeleteRangeRequest: 'key:1:bytes range_end:2:bytes',
    DeleteRangeResponse: 'header:1:ResponseHeader deleted:2:int64',
    RequestOp: 'request_range:1:RangeRequest request_put:2:PutRequest request_delete_range:3:DeleteRangeRequest',
    ResponseOp: 'response_range:1:RangeResponse response_put:2:PutResponse response_delete_range:3:DeleteRangeResponse',
    Compare: 'result:1:CompareResult target:2:CompareTarget key:3:bytes mod_revision:6:int64',
    TxnRequest: 'compare:1:[]Compare success:2:[]RequestOp failure:3:[]RequestOp',
    TxnResponse: 'header:1:ResponseHeader succeeded:2:bool responses:3:[]ResponseOp',
    CompactionRequest: 'revision:1:int64 physical:2:bool',
    CompactionResponse: 'header:1:ResponseHeader',
    WatchRequest: 'create_request:1:WatchCreateRequest',
    WatchCreateRequest: 'key:1:bytes range_end:2:bytes start_revision:3:int64 fragment:8:bool',
    WatchResponse:
      'header:1:ResponseHeader created:3:bool canceled:4:bool compact_revision:5:int64 cancel_reason:6:string fragment:7:bool events:11:[].mvccpb.Event',
    LeaseGrantRequest: 'TTL:1:int64 ID:2:int64',
    LeaseGrantResponse: 'header:1:ResponseHeader ID:2:int64 TTL:3:int64 error:4:string',
    StatusRequest: '',
    StatusResponse: 'header:1:ResponseHeader version:2:string dbSize:3:int64 dbSizeInUse:9:int64',
    Member: 'ID:1:uint64text name:2:string peerURLs:3:[]string clientURLs:4:[]string isLearner:5:bool',
    MemberListRequest: '',
    MemberAddRequest: 'peerURLs:1:[]string isLearner:2:bool',
    MemberIdRequest: 'ID:1:uint64text',
    MembersResponse: 'members:2:[]Member',
    MemberAddResponse: 'member:2:Member members:3:[]Member',
    SnapshotRequest: '',
    SnapshotResponse: 'header:1:ResponseHeader remaining_bytes:2:uint64 blob:3:bytes',
  },
  services: {
    KV: {
      Range: 'RangeRequest RangeResponse',
      Txn: 'TxnRequest TxnResponse',
      Compact: 'CompactionRequest CompactionResponse',
    },
    Watch: { Watch: 'stream WatchRequest stream WatchResponse' },
    Lease: { LeaseGrant: 'LeaseGrantRequest LeaseGrantResponse' },
    Cluster: {
      MemberList: 'MemberListRequest MembersResponse',
      MemberAdd: 'MemberAddRequest MemberAddResponse',
      MemberPromote: 'MemberIdRequest MembersResponse',
      MemberRemove: 'MemberIdRequest MembersResponse',
    },
    Maintenance: { Status: 'StatusRequest StatusResponse', Snapshot: 'SnapshotRequest stream SnapshotResponse' },
  },
} as const satisfies ProtobufTable;

export interface KeyValue {
  readonly key: Uint8Array;
  readonly createRevision: number;
  readonly modRevision: number;
  readonly value: Uint8Array;
}

/** One change; `kv` of a deletion has key and mod revision alone. */
export interface EtcdEvent {
  readonly type: 'PUT' | 'DELETE';
  readonly kv: KeyValue;
}

interface Answer {
  readonly header: { readonly revision: number };
}

/** Answer of a range read. */
export interface RangeResponse extends Answer {
  readonly kvs: readonly KeyValue[];
  readonly more: boolean;
  readonly count: number;
}

/** Answer of a transaction of one operation. */
export interface TxnResponse extends Answer {
  readonly succeeded: boolean;
  readonly responses: readonly {
    readonly responseRange?: RangeResponse;
    readonly responseDeleteRange?: { readonly deleted: number };
  }[];
}

export interface WatchResponse extends Answer {
  readonly created: boolean;
  readonly canceled: boolean;
  readonly compactRevision: number;
  readonly cancelReason: string;
  /** More events of the same revision follow. */
  readonly fragment: boolean;
  readonly events: readonly EtcdEvent[];
}

/** Answer of Maintenance/Status. */
export interface StatusResponse extends Answer {
  readonly version: string;
  readonly dbSize: number;
  readonly dbSizeInUse: number;
}

/** A member; its name and client URLs are empty until it has started. */
export interface EtcdMember {
  readonly ID: string;
  readonly name: string;
  readonly peerURLs: readonly string[];
  readonly clientURLs: readonly string[];
  /** It receives everything, but neither votes nor serves yet. */
  readonly isLearner: boolean;
}

/** The answers of the unary methods. */
export interface EtcdAnswers {
  readonly 'KV/Range': RangeResponse;
  readonly 'KV/Txn': TxnResponse;
  readonly 'KV/Compact': Answer;
  readonly 'Lease/LeaseGrant': Answer & { readonly error: string };
  readonly 'Cluster/MemberList': { readonly members: readonly EtcdMember[] };
  readonly 'Cluster/MemberAdd': { readonly member: EtcdMember; readonly members: readonly EtcdMember[] };
  readonly 'Cluster/MemberPromote': { readonly members: readonly EtcdMember[] };
  readonly 'Cluster/MemberRemove': { readonly members: readonly EtcdMember[] };
  readonly 'Maintenance/Status': StatusResponse;
}
