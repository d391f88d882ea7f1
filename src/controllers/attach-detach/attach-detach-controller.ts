/**
 * Asks CSI drivers to attach volumes to nodes and to detach them, by VolumeAttachment objects, and tells nodes what they
 * have. Upstream: pkg/controller/volume/attachdetach; its in-tree plugins are all CSI's now.
 *
 * Watches: pods, nodes, claims, volumes, drivers, attachments. Writes alone: VolumeAttachments (not their status) and nodes'
 * `status.volumesAttached`. Level-triggered per node; nothing is remembered but since when a volume is no longer wanted.
 */
import {
  CSIDrivers,
  Nodes,
  PersistentVolumeClaims,
  PersistentVolumes,
  Pods,
  VolumeAttachments,
} from '../../api/gen/resources.ts';
import { deepEqual } from '../../base/equal.ts';
import { isReason, ignoreNotFound } from '../../api/status-error.ts';
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import type { VolumeAttachment } from '../../api/gen/storage-v1.ts';
import type { Stored } from '../../api/object.ts';
import { csiSourceOf, migratedInlineVolume } from '../../component-helpers/csi-translation.ts';
import { isNodeReady } from '../../component-helpers/nodes.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';
import {
  attachmentName,
  isAttachedFor,
  isShareable,
  newAttachment,
  uniqueVolumeName,
  volumeKeyOf,
  wantedVolumes,
  type WantedVolume,
} from './attachments.ts';
import { withVolumeCounts } from './metrics.ts';

const ACCOUNT = 'attachdetach-controller';
const NAME = 'persistentvolume-attach-detach-controller';
/** How long a volume that nobody wants may stay in use on a sick node before it is taken away. */
const MAX_WAIT_FOR_UNMOUNT_MS = 360_000;
const RETRY_MS = 5000;
const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';

export function createAttachDetachController(deps: ControllerDeps): Controller {
  const { clock, crypto } = deps.platform;
  const client = deps.clientFor(ACCOUNT);
  const recorder = deps.recorderFor('attachdetach-controller');
  const pods = deps.informers.informer(Pods);
  const nodes = deps.informers.informer(Nodes);
  const claims = deps.informers.informer(PersistentVolumeClaims);
  const volumes = deps.informers.informer(PersistentVolumes);
  const drivers = deps.informers.informer(CSIDrivers);
  const attachments = deps.informers.informer(VolumeAttachments);
  pods.addIndex('node', (pod) => [pod.spec?.nodeName ?? '']);
  attachments.addIndex('node', (attachment) => [attachment.spec.nodeName]);
  attachments.addIndex('volume', (attachment) => [volumeKeyOf(attachment)]);
  const lookup = {
    claim: (namespace: string, name: string) => claims.get({ namespace, name }),
    volume: (name: string) => volumes.get({ name }),
    driver: (name: string) => drivers.get({ name }),
  };
  const unwantedSinceMs = new Map<string, number>();
  const forced = deps.platform.metrics.counter({
    name: 'attachdetach_controller_forced_detaches',
    help: 'Volumes taken from nodes that had not let go of them.',
    labels: ['reason'],
  });
  const loop = createKeyedLoop(deps, {
    name: NAME,
    queueName: 'attach_detach',
    workers: 5,
    informers: informerList(pods, nodes, claims, volumes, drivers, attachments),
    sync: reconcileNode,
  });

  async function reconcileNode(node: string, signal: AbortSignal): Promise<void> {
    // Without the mark the node's kubelet attaches for itself.
    const object = nodes.get({ name: node });
    if (object !== undefined && !isAttachedFor(object)) return;
    const wanted = wantedVolumes(pods.byIndex('node', node), lookup);
    const own = attachments.byIndex('node', node);
    const going = own.filter((attachment) => !wanted.has(volumeKeyOf(attachment)));
    const staying = own.filter((attachment) => !going.includes(attachment));
    for (const attachment of staying) unwantedSinceMs.delete(attachment.metadata.name);
    const leaving = going.filter((attachment) => mayDetach(node, attachment));
    if (leaving.length < going.length) loop.queue.addAfter(node, RETRY_MS);
    await tellNode(
      node,
      own.filter((attachment) => !leaving.includes(attachment)),
      signal,
    );
    for (const attachment of leaving) await detach(attachment, signal);
    for (const each of wanted.values()) await attach(node, each, signal);
  }

  /** Once the node has unmounted it, or is taken to be gone. */
  function mayDetach(nodeName: string, attachment: Stored<VolumeAttachment>): boolean {
    const name = attachment.metadata.name;
    const node = nodes.get({ name: nodeName });
    const since = unwantedSinceMs.get(name) ?? clock.nowMs();
    unwantedSinceMs.set(name, since);
    if (node === undefined) return true;
    const unique = uniqueNameOf(attachment);
    if (unique === undefined || !(node.status?.volumesInUse ?? []).includes(unique)) return true;
    const isLate = !isNodeReady(node) && clock.nowMs() - since > MAX_WAIT_FOR_UNMOUNT_MS;
    if (!isLate && !isOutOfService(node)) return false;
    if (attachment.metadata.deletionTimestamp === undefined)
      forced.inc({ reason: isOutOfService(node) ? 'out-of-service' : 'timeout' });
    return true;
  }

  function uniqueNameOf({ spec }: VolumeAttachment): string | undefined {
    const { inlineVolumeSpec, persistentVolumeName = '' } = spec.source;
    const csi = inlineVolumeSpec?.csi ?? csiSourceOf(volumes.get({ name: persistentVolumeName }));
    return csi === undefined ? undefined : uniqueVolumeName(csi.driver, csi.volumeHandle);
  }

  /** The node's kubelet mounts what is listed here, and nothing else: listed once attached, unlisted before detaching. */
  async function tellNode(name: string, staying: readonly VolumeAttachment[], signal: AbortSignal): Promise<void> {
    const node = nodes.get({ name });
    if (node === undefined) return;
    const listed = staying.flatMap((attachment) => {
      const unique = attachment.status?.attached === true ? uniqueNameOf(attachment) : undefined;
      return unique === undefined ? [] : [{ name: unique, devicePath: '' }];
    });
    listed.sort((a, b) => (a.name < b.name ? -1 : 1));
    if (deepEqual(listed, node.status?.volumesAttached ?? [])) return;
    const patch = { status: { volumesAttached: listed.length === 0 ? null : listed } };
    await client
      .resource(Nodes)
      .patch({ name }, { type: 'merge', patch }, { subresource: 'status', signal })
      .catch(ignoreNotFound);
  }

  async function detach(attachment: Stored<VolumeAttachment>, signal: AbortSignal): Promise<void> {
    const { name, uid, deletionTimestamp } = attachment.metadata;
    unwantedSinceMs.delete(name);
    if (deletionTimestamp !== undefined) return; // The driver is at it.
    try {
      await client.resource(VolumeAttachments).delete({ name }, { preconditions: { uid }, signal });
    } catch (error) {
      if (!isReason(error, 'NotFound', 'Conflict')) throw error;
    }
  }

  async function attach(node: string, wanted: WantedVolume, signal: AbortSignal): Promise<void> {
    const name = attachmentName((text) => crypto.sha256Hex(text), wanted, node);
    const found = attachments.get({ name });
    if (found !== undefined) return reportProgress(wanted, found);
    const elsewhere = attachments.byIndex('volume', wanted.key).filter(({ spec }) => spec.nodeName !== node);
    if (elsewhere.length > 0 && !isShareable(wanted.volume)) {
      reportMultiAttach(wanted, elsewhere[0]?.spec.nodeName ?? '');
      return loop.queue.addAfter(node, RETRY_MS);
    }
    try {
      await client.resource(VolumeAttachments).create(newAttachment(name, wanted, node), { signal });
    } catch (error) {
      if (!isReason(error, 'AlreadyExists')) throw error;
    }
  }

  function reportMultiAttach({ key, volume, pods: waiting }: WantedVolume, node: string): void {
    const name = JSON.stringify(volume.metadata.name ?? '');
    const users = pods
      .byIndex('node', node)
      .filter((pod) => wantedVolumes([pod], lookup).has(key))
      .map((pod) => pod.metadata.name);
    const why =
      users.length === 0
        ? "Volume is already exclusively attached to one node and can't be attached to another"
        : `Volume is already used by pod(s) ${users.join(', ')}`;
    for (const pod of waiting)
      recorder.event(pod, 'Warning', 'FailedAttachVolume', `Multi-Attach error for volume ${name} ${why}`);
  }

  function reportProgress({ volume, pods: waiting }: WantedVolume, { status }: VolumeAttachment): void {
    const message = status?.attachError?.message;
    if (message === undefined || status?.attached === true) return;
    const name = JSON.stringify(volume.metadata.name ?? '');
    for (const pod of waiting)
      recorder.event(
        pod,
        'Warning',
        'FailedAttachVolume',
        `AttachVolume.Attach failed for volume ${name} : ${message}`,
      );
  }

  function reportAttached(attachment: VolumeAttachment): void {
    for (const pod of pods.byIndex('node', attachment.spec.nodeName)) {
      const wanted = wantedVolumes([pod], lookup).get(volumeKeyOf(attachment));
      if (wanted === undefined) continue;
      const message = `AttachVolume.Attach succeeded for volume ${JSON.stringify(wanted.volume.metadata.name)} `;
      recorder.event(pod, 'Normal', 'SuccessfulAttachVolume', message);
    }
  }

  const ofPod = (pod: Pod): void => {
    if ((pod.spec?.nodeName ?? '') !== '') loop.queue.add(pod.spec?.nodeName ?? '');
  };
  const ofAttachment = ({ spec }: VolumeAttachment): void => loop.queue.add(spec.nodeName);
  const all = (): void => nodes.list().forEach((node) => loop.queue.add(node.metadata.name));
  const hasClaims = (pod: Pod): boolean =>
    (pod.spec?.volumes ?? []).some(
      (volume) =>
        volume.persistentVolumeClaim !== undefined ||
        volume.ephemeral !== undefined ||
        migratedInlineVolume(volume, '') !== undefined,
    );
  const podChanged = (pod: Pod): void => {
    if (hasClaims(pod)) ofPod(pod);
  };
  pods.addHandler({ onAdd: podChanged, onUpdate: (_, pod) => podChanged(pod), onDelete: podChanged });
  attachments.addHandler({
    onAdd: ofAttachment,
    onUpdate(old, attachment) {
      if (old.status?.attached !== true && attachment.status?.attached === true) reportAttached(attachment);
      ofAttachment(attachment);
    },
    onDelete(attachment) {
      ofAttachment(attachment);
      all(); // Another node may wait for it.
    },
  });
  nodes.addHandler({
    onUpdate: (old, node) => {
      if (isNews(old, node)) loop.queue.add(node.metadata.name);
    },
    onDelete: (node) => loop.queue.add(node.metadata.name),
  });
  volumes.addHandler({
    onUpdate: (old, volume) => {
      if (!deepEqual(old.spec, volume.spec)) all();
    },
  });
  return withVolumeCounts(loop, deps.platform.metrics, { nodes, pods, attachments, lookup });
}

/** Whether volumes may have to move for it. */
function isNews(old: Node, now: Node): boolean {
  return (
    !deepEqual(old.status?.volumesInUse, now.status?.volumesInUse) ||
    !deepEqual(old.metadata.annotations, now.metadata.annotations) ||
    isOutOfService(now)
  );
}

function isOutOfService(node: Node): boolean {
  return (node.spec?.taints ?? []).some(({ key }) => key === OUT_OF_SERVICE);
}
