/**
 * The API objects about the CSI drivers of this node: the CSINode, the node's topology labels and the annotation with
 * the drivers' node ids. Upstream: pkg/volume/csi/nodeinfomanager.
 *
 * Writes are compare-and-swap with retries, one at a time, as several drivers may register at once.
 */
import type { Node } from '../../../api/gen/core-v1.ts';
import { CSINodes, Nodes } from '../../../api/gen/resources.ts';
import type { CSINode, CSINodeDriver } from '../../../api/gen/storage-v1.ts';
import { ignoreNotFound, isReason } from '../../../api/status-error.ts';
import { KeyedMutex } from '../../../base/keyed-mutex.ts';
import type { Client } from '../../../client/client.ts';
import type { NodeInfo } from './csi-client.ts';

const NODE_ID_ANNOTATION = 'csi.volume.kubernetes.io/nodeid';
const MAX_TRIES = 5;

/** Installs and removes drivers. */
export interface CsiNodeObject {
  /** Rejects when the node's labels contradict the driver's topology, or the API refuses the change. */
  install(driver: string, info: NodeInfo): Promise<void>;
  uninstall(driver: string): Promise<void>;
  /** Creates the CSINode if it is missing, and sets its annotation of migrated plugins. */
  initialize(): Promise<void>;
}

/** In-tree plugins whose volumes are all migrated to CSI drivers; schedulers use it for volume limits. */
const MIGRATED_PLUGINS_ANNOTATION = 'storage.alpha.kubernetes.io/migrated-plugins';
const MIGRATED_PLUGINS = [
  'kubernetes.io/aws-ebs',
  'kubernetes.io/azure-disk',
  'kubernetes.io/azure-file',
  'kubernetes.io/cinder',
  'kubernetes.io/gce-pd',
  'kubernetes.io/portworx-volume',
  'kubernetes.io/vsphere-volume',
].join(',');

/** Makes the writer of a node's objects. */
export function createCsiNodeObject(client: Client, nodeName: string): CsiNodeObject {
  const mutex = new KeyedMutex();
  const nodes = client.resource(Nodes);
  const csiNodes = client.resource(CSINodes);
  const key = { name: nodeName };

  async function patchNode(change: (node: Node) => object | undefined): Promise<Node> {
    const node = await nodes.get(key);
    const metadata = change(node);
    return metadata === undefined ? node : nodes.patch(key, { type: 'merge', patch: { metadata } });
  }

  /** `change` returns the desired drivers. */
  async function changeDrivers(
    change: (drivers: readonly CSINodeDriver[]) => CSINodeDriver[],
    owner: Node | undefined,
  ): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await tryChange(change, owner);
      } catch (error) {
        if (tries === MAX_TRIES || !isReason(error, 'Conflict', 'AlreadyExists')) throw error;
      }
    }
  }

  async function tryChange(
    change: (drivers: readonly CSINodeDriver[]) => CSINodeDriver[],
    owner: Node | undefined,
  ): Promise<void> {
    const csiNode = await csiNodes.get(key).catch(ignoreNotFound);
    const drivers = change(csiNode?.spec.drivers ?? []);
    if (csiNode !== undefined) {
      if (JSON.stringify(drivers) !== JSON.stringify(csiNode.spec.drivers ?? []))
        await csiNodes.update({ ...csiNode, spec: { ...csiNode.spec, drivers } });
    } else if (owner !== undefined) {
      await csiNodes.create(newCsiNode(owner, drivers));
    }
  }

  async function initialize(): Promise<void> {
    const csiNode = await csiNodes.get(key).catch(ignoreNotFound);
    if (csiNode === undefined) await csiNodes.create(newCsiNode(await nodes.get(key), []));
    else if (csiNode.metadata.annotations?.[MIGRATED_PLUGINS_ANNOTATION] !== MIGRATED_PLUGINS) {
      const annotations = { ...csiNode.metadata.annotations, [MIGRATED_PLUGINS_ANNOTATION]: MIGRATED_PLUGINS };
      await csiNodes.update({ ...csiNode, metadata: { ...csiNode.metadata, annotations } });
    }
  }

  return {
    initialize: () => mutex.run('', initialize),
    install: (driver, info) =>
      mutex.run('', async () => {
        const node = await patchNode((current) => installed(current, driver, info));
        await changeDrivers(
          (drivers) => [...drivers.filter(({ name }) => name !== driver), driverEntry(driver, info)],
          node,
        );
      }),
    uninstall: (driver) =>
      mutex.run('', async () => {
        await changeDrivers((drivers) => drivers.filter(({ name }) => name !== driver), undefined);
        await patchNode((node) => {
          const { [driver]: gone, ...ids } = nodeIds(node);
          const value = Object.keys(ids).length === 0 ? null : JSON.stringify(ids);
          return gone === undefined ? undefined : { annotations: { [NODE_ID_ANNOTATION]: value } };
        });
      }),
  };
}

function nodeIds(node: Node): Record<string, string> {
  const text = node.metadata.annotations?.[NODE_ID_ANNOTATION];
  if (text === undefined || text === '') return {};
  try {
    return JSON.parse(text) as Record<string, string>;
  } catch {
    return {}; // invalid ids are replaced
  }
}

function installed(node: Node, driver: string, info: NodeInfo): object | undefined {
  const segments = info.accessibleTopology?.segments ?? {};
  const labels: Record<string, string> = {};
  for (const [name, value] of Object.entries(segments)) {
    const existing = node.metadata.labels?.[name];
    if (existing === value) continue;
    if (existing !== undefined)
      throw new Error(
        `detected topology value collision: driver reported ${JSON.stringify(name)}:${JSON.stringify(value)} but existing label is ${JSON.stringify(name)}:${JSON.stringify(existing)}`,
      );
    labels[name] = value;
  }
  const ids = nodeIds(node);
  if (ids[driver] === info.nodeId && Object.keys(labels).length === 0) return undefined;
  return { labels, annotations: { [NODE_ID_ANNOTATION]: JSON.stringify({ ...ids, [driver]: info.nodeId }) } };
}

function driverEntry(name: string, info: NodeInfo): CSINodeDriver {
  const count = Math.min(info.maxVolumesPerNode, 2 ** 31 - 1);
  return {
    name,
    nodeID: info.nodeId,
    topologyKeys: Object.keys(info.accessibleTopology?.segments ?? {}).sort(),
    ...(count > 0 ? { allocatable: { count } } : {}),
  };
}

function newCsiNode(node: Node, drivers: CSINodeDriver[]): CSINode {
  const { name = '', uid = '' } = node.metadata;
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: {
      name,
      annotations: { [MIGRATED_PLUGINS_ANNOTATION]: MIGRATED_PLUGINS },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid }],
    },
    spec: { drivers },
  };
}
