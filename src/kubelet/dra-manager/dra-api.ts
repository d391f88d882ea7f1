/**
 * The kubelet's API of dynamic resource drivers, v1 and v1beta1, which differ only in names. Upstream:
 * k8s.io/kubelet/pkg/apis/dra.
 */
import type { GrpcCaller } from '../../grpc/grpc-caller.ts';
import type { ProtobufTable } from '../../grpc/protobuf-table.ts';

const MESSAGES = {
  Claim: 'namespace:1:string uid:2:string name:3:string',
  NodePrepareResourcesRequest: 'claims:1:[]Claim',
  NodePrepareResourcesResponse: 'claims:1:map<string,NodePrepareResourceResponse>',
  NodePrepareResourceResponse: 'devices:1:[]Device error:2:string',
  Device: 'request_names:1:[]string pool_name:2:string device_name:3:string cdi_device_ids:4:[]string',
  NodeUnprepareResourcesRequest: 'claims:1:[]Claim',
  NodeUnprepareResourcesResponse: 'claims:1:map<string,NodeUnprepareResourceResponse>',
  NodeUnprepareResourceResponse: 'error:1:string',
};
const SERVICES = {
  DRAPlugin: {
    NodePrepareResources: 'NodePrepareResourcesRequest NodePrepareResourcesResponse',
    NodeUnprepareResources: 'NodeUnprepareResourcesRequest NodeUnprepareResourcesResponse',
  },
};

/** Versions as drivers name them when they register, the best first. */
export const DRA_VERSIONS = ['v1', 'v1beta1'] as const;

export type DraVersion = (typeof DRA_VERSIONS)[number];

/** Messages and methods of a version. */
export function draTable(version: DraVersion): ProtobufTable {
  return { package: `k8s.io.kubelet.pkg.apis.dra.${version}`, enums: {}, messages: MESSAGES, services: SERVICES };
}

/** A claim in calls to drivers. */
export interface DraClaim {
  readonly namespace: string;
  readonly uid: string;
  readonly name: string;
}

/** A prepared device. */
export interface DraDevice {
  readonly requestNames: readonly string[];
  readonly poolName: string;
  readonly deviceName: string;
  readonly cdiDeviceIds: readonly string[];
}

type Unprepared = Readonly<Record<string, { readonly error: string } | undefined>>;
type Prepared = Readonly<
  Record<string, { readonly devices: readonly DraDevice[]; readonly error: string } | undefined>
>;

/** Upstream's deadline. */
const TIMEOUT_MS = 45_000;

/** Prepares claims. Resolves to the results by claim uid; rejects with a GrpcError. */
export async function nodePrepareResources(
  caller: GrpcCaller,
  version: DraVersion,
  claims: readonly DraClaim[],
): Promise<Prepared> {
  const method = { service: `${draTable(version).package}.DRAPlugin`, method: 'NodePrepareResources' };
  return ((await caller.unary(method, { claims }, { timeoutMs: TIMEOUT_MS })) as { claims: Prepared }).claims;
}

/** Unprepares claims. Resolves to the results by claim uid. */
export async function nodeUnprepareResources(
  caller: GrpcCaller,
  version: DraVersion,
  claims: readonly DraClaim[],
): Promise<Unprepared> {
  const method = { service: `${draTable(version).package}.DRAPlugin`, method: 'NodeUnprepareResources' };
  return ((await caller.unary(method, { claims }, { timeoutMs: TIMEOUT_MS })) as { claims: Unprepared }).claims;
}
