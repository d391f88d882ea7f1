/**
 * The device manager's checkpoint `kubelet_internal_checkpoint` in the device plugin directory, in upstream's format.
 * Differs: the checksum is computed over the text of the data; upstream's over Go's print of its structures.
 */
import type { Files } from '../../platform/files.ts';
import { createMessageCodec } from '../../grpc/message-codec.ts';
import { fnv32a } from '../../base/fnv.ts';
import { devicePluginTable, type ContainerAllocateResponse } from './device-plugin-api.ts';
import type { PodDevicesEntry } from './pod-devices.ts';

export interface DeviceCheckpoint {
  readonly entries: readonly PodDevicesEntry[];
  /** Healthy devices by resource. */
  readonly registered: Readonly<Record<string, readonly string[]>>;
}

interface KeptEntry {
  readonly PodUID: string;
  readonly ContainerName: string;
  readonly ResourceName: string;
  /** Device ids by NUMA node; -1: it has none. */
  readonly DeviceIDs: Readonly<Record<string, readonly string[]>>;
  readonly AllocResp: string;
}

interface CheckpointFile {
  readonly Data: {
    readonly PodDeviceEntries: readonly KeptEntry[] | null;
    readonly RegisteredDevices: Readonly<Record<string, readonly string[]>> | null;
  };
  readonly Checksum: number;
}

const RESPONSE = 'v1beta1.ContainerAllocateResponse';
const NO_NODE = '-1';

export async function writeDeviceCheckpoint(files: Files, path: string, checkpoint: DeviceCheckpoint): Promise<void> {
  const codec = createMessageCodec([devicePluginTable]);
  const Data: CheckpointFile['Data'] = {
    PodDeviceEntries: checkpoint.entries.map((entry) => ({
      PodUID: entry.podUid,
      ContainerName: entry.container,
      ResourceName: entry.resource,
      DeviceIDs: byNode(entry),
      AllocResp: Buffer.from(codec.encode(RESPONSE, entry.response)).toString('base64'),
    })),
    RegisteredDevices: checkpoint.registered,
  };
  const data = JSON.stringify(Data);
  await files.writeFileAtomic(path, `{"Data":${data},"Checksum":${fnv32a(data)}}`, { mode: 0o600 });
}

function byNode({ ids, nodes }: PodDevicesEntry): Record<string, string[]> {
  const devicesByNode: Record<string, string[]> = {};
  for (const id of ids) for (const node of nodes[id] ?? [NO_NODE]) (devicesByNode[node] ??= []).push(id);
  return devicesByNode;
}

/** Reads the checkpoint; undefined: there is none. Throws when it is damaged. */
export async function readDeviceCheckpoint(files: Files, path: string): Promise<DeviceCheckpoint | undefined> {
  if (!(await files.exists(path))) return undefined;
  const { Data, Checksum } = JSON.parse(await files.readText(path)) as CheckpointFile;
  if (fnv32a(JSON.stringify(Data)) !== Checksum) throw new Error('checkpoint is corrupted');
  const codec = createMessageCodec([devicePluginTable]);
  return {
    registered: Data.RegisteredDevices ?? {},
    entries: (Data.PodDeviceEntries ?? []).map((entry) => {
      const nodes: Record<string, number[]> = {};
      const ids = new Set<string>();
      for (const [node, list] of Object.entries(entry.DeviceIDs)) {
        for (const id of list) {
          ids.add(id);
          if (node !== NO_NODE) (nodes[id] ??= []).push(Number(node));
        }
      }
      return {
        podUid: entry.PodUID,
        container: entry.ContainerName,
        resource: entry.ResourceName,
        ids: [...ids],
        nodes,
        response: codec.decode(RESPONSE, Buffer.from(entry.AllocResp, 'base64')) as ContainerAllocateResponse,
      };
    }),
  };
}
