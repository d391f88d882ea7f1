/** Composes the CSI plugin: registration of drivers, their API objects, and the volumes. */
import type { Node } from '../../../api/gen/core-v1.ts';
import type { Client } from '../../../client/client.ts';
import type { KubeletEventRecorder } from '../../event-reasons.ts';
import type { GrpcConnector } from '../../../grpc/grpc-connector.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { PluginManager } from '../../plugin-manager/plugin-manager.ts';
import { STORAGE_BUCKETS } from '../storage-metrics.ts';
import type { ServiceAccountTokens } from '../service-account-tokens.ts';
import { createAllocatableRefresh } from './csi-allocatable.ts';
import type { CsiContext } from './csi-context.ts';
import { createCsiDrivers, type CsiDrivers } from './csi-drivers.ts';
import { createCsiNodeObject } from './csi-node-object.ts';
import { createCsiRecords } from './csi-records.ts';
import { csiDriverObject } from './csi-requests.ts';
import { createCsiVolumes, type CsiVolumes } from './csi-volumes.ts';

export interface CsiPluginDeps {
  readonly platform: CsiContext['platform'] & Pick<Platform, 'metrics'>;
  readonly client: Client;
  readonly recorder: KubeletEventRecorder;
  readonly tokens: ServiceAccountTokens;
  readonly plugins: Pick<PluginManager, 'addHandler'>;
  readonly connectGrpc: GrpcConnector;
  readonly ownNode: () => Node | undefined;
  /** Called when `inUse` has changed. */
  readonly nodeStatusChanged: () => void;
}

/** Also registers the handler of CSI drivers. */
export function createCsiPlugin(
  deps: CsiPluginDeps,
  config: { readonly kubeletRoot: string; readonly nodeName: string; readonly attachesItself: boolean },
): CsiVolumes {
  const { platform, client } = deps;
  const { kubeletRoot, nodeName, attachesItself } = config;
  const nodeObject = createCsiNodeObject(client, nodeName);
  const log = platform.log.child('csi');
  const operations = platform.metrics.histogram({
    name: 'csi_operations_seconds',
    help: 'Time of calls to CSI drivers, by gRPC status.',
    labels: ['driver_name', 'method_name', 'grpc_status_code', 'migrated'],
    buckets: STORAGE_BUCKETS,
  });
  const drivers: CsiDrivers = createCsiDrivers({
    connect: deps.connectGrpc,
    log,
    clock: platform.clock,
    observe: (driver) => (method, status, durationMs) =>
      operations.observe(durationMs / 1000, {
        driver_name: driver,
        method_name: method,
        grpc_status_code: status,
        migrated: 'false',
      }),
    allocatable: createAllocatableRefresh({
      clock: platform.clock,
      log,
      async periodSeconds(name) {
        const seconds = (await csiDriverObject({ client }, name))?.spec.nodeAllocatableUpdatePeriodSeconds;
        return seconds === undefined ? undefined : Number(seconds);
      },
      refresh: async (name) => nodeObject.install(name, await drivers.client(name).nodeGetInfo()),
    }),
    installDriver: nodeObject.install,
    uninstallDriver: nodeObject.uninstall,
  });
  deps.plugins.addHandler('CSIPlugin', drivers.handler);
  const records = createCsiRecords(platform, kubeletRoot);
  return createCsiVolumes({ ...deps, drivers, records, nodeName, attachesItself }, deps.nodeStatusChanged);
}
