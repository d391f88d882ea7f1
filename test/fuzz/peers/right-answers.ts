// Responses of well-behaved plugins.
import { aborted } from '../../../src/base/abort.ts';
import { devicePluginTable } from '../../../src/kubelet/device-manager/device-plugin-api.ts';
import { registrationTable } from '../../../src/kubelet/plugin-manager/registration-client.ts';
import { CSI_TABLE } from '../../../src/kubelet/volumes/csi/csi-table.ts';
import type { Method } from './steady-peers.ts';

type Methods = Readonly<Record<string, Method>>;

export const deviceTables = [registrationTable, devicePluginTable];
export const csiTables = [registrationTable, CSI_TABLE];

export function registrarMethods([type, name, version]: readonly string[]): Methods {
  return {
    'pluginregistration.Registration/GetInfo': () => ({ type, name, endpoint: '', supportedVersions: [version] }),
    'pluginregistration.Registration/NotifyRegistrationStatus': () => ({}),
  };
}

interface Allocation {
  readonly containerRequests: readonly object[];
}

export const deviceMethods: Methods = {
  'v1beta1.DevicePlugin/GetDevicePluginOptions': () => ({
    preStartRequired: true,
    getPreferredAllocationAvailable: true,
  }),
  'v1beta1.DevicePlugin/ListAndWatch': async function* (_request, signal) {
    yield { devices: Array.from({ length: 100 }, (_, at) => ({ ID: `d${at}`, health: 'Healthy' })) };
    await aborted(signal);
  },
  'v1beta1.DevicePlugin/GetPreferredAllocation': ({ containerRequests }: Allocation) => ({
    containerResponses: containerRequests.map(() => ({ deviceIDs: [] })),
  }),
  'v1beta1.DevicePlugin/Allocate': ({ containerRequests }: Allocation) => ({
    containerResponses: containerRequests.map(() => ({ envs: { DEVICE: 'a' } })),
  }),
  'v1beta1.DevicePlugin/PreStartContainer': () => ({}),
};

export const csiMethods: Methods = {
  'csi.v1.Node/NodeGetInfo': () => ({ nodeId: 'fuzzed', maxVolumesPerNode: 100 }),
  'csi.v1.Node/NodeGetCapabilities': () => ({
    capabilities: [{ rpc: { type: 'STAGE_UNSTAGE_VOLUME' } }, { rpc: { type: 'GET_VOLUME_STATS' } }],
  }),
  'csi.v1.Node/NodeStageVolume': () => ({}),
  'csi.v1.Node/NodeUnstageVolume': () => ({}),
  'csi.v1.Node/NodePublishVolume': () => ({}),
  'csi.v1.Node/NodeUnpublishVolume': () => ({}),
  'csi.v1.Node/NodeGetVolumeStats': () => ({ usage: [{ available: 1, total: 2, used: 1, unit: 'BYTES' }] }),
};
