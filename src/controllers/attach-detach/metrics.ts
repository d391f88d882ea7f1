/**
 * Counts attached, wanted and used volumes at each exposition. Upstream: attachdetach/metrics. Used volumes count
 * once per pod and volume, including ended pods and drivers without attachment.
 *
 * Differs: only CSI volumes, including migrated ones, are counted; fc and iscsi are not.
 */
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import type { VolumeAttachment } from '../../api/gen/storage-v1.ts';
import type { Informer } from '../../client/informer.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { Controller } from '../controller.ts';
import { createGroupCounts } from '../group-counts.ts';
import { isAttachedFor, wantedVolume, wantedVolumes, type VolumeLookup } from './attachments.ts';

interface AttachmentsSeen {
  readonly nodes: Informer<Node>;
  /** Needs the index `node`. */
  readonly pods: Informer<Pod>;
  readonly attachments: Informer<VolumeAttachment>;
  readonly lookup: VolumeLookup;
}

/** The controller; its volumes are counted while it runs. */
export function withVolumeCounts(controller: Controller, metrics: Metrics, seen: AttachmentsSeen): Controller {
  return { ...controller, start: (signal) => controller.start(signal).finally(exposeVolumes(metrics, seen)) };
}

/** Starts the collector, and returns a function that stops it. */
function exposeVolumes(metrics: Metrics, seen: AttachmentsSeen): () => void {
  const total = metrics.gauge({
    name: 'attachdetach_controller_total_volumes',
    help: 'Volumes that nodes are to have (desired_state_of_world) and have (actual_state_of_world).',
    labels: ['plugin_name', 'state'],
  });
  const inUse = metrics.gauge({
    name: 'storage_count_attachable_volumes_in_use',
    help: 'Volumes of the pods of a node, each once per pod.',
    labels: ['node', 'volume_plugin'],
  });
  const counts = createGroupCounts();
  const end = metrics.beforeExpose(() => {
    const desired = seen.nodes
      .list()
      .filter(isAttachedFor)
      .flatMap(({ metadata: { name: node } }) => [
        ...wantedVolumes(seen.pods.byIndex('node', node), seen.lookup).values(),
      ])
      .map(({ driver }) => ({ plugin: `kubernetes.io/csi:${driver}`, state: 'desired_state_of_world' }));
    const attached = seen.attachments
      .list()
      .filter(({ status }) => status?.attached === true)
      .map(({ spec }) => ({ plugin: `kubernetes.io/csi:${spec.attacher}`, state: 'actual_state_of_world' }));
    counts.update(total, [...desired, ...attached], ({ plugin, state }) => ({ plugin_name: plugin, state }));
    counts.update(inUse, volumesInUse(seen), (labels) => labels);
  });
  return () => {
    end();
    counts.forget();
  };
}

function volumesInUse({ pods, lookup }: AttachmentsSeen): { node: string; volume_plugin: string }[] {
  return pods.list().flatMap((pod) => {
    const { nodeName: node = '', volumes = [] } = pod.spec ?? {};
    if (node === '') return [];
    return volumes
      .map((described) => described.csi?.driver ?? wantedVolume(pod, described, lookup)?.driver)
      .filter((driver) => driver !== undefined)
      .map((driver) => ({ node, volume_plugin: `kubernetes.io/csi:${driver}` }));
  });
}
