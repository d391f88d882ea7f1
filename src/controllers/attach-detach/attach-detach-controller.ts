/**
 * Attaches CSI volumes to nodes and detaches them through VolumeAttachment objects, and lists attached volumes in
 * nodes' status. Upstream: pkg/controller/volume/attachdetach, whose in-tree plugins have all moved to CSI.
 *
 * Watches: pods, nodes, claims, volumes, drivers, attachments. Writes alone: VolumeAttachments (not their status) and
 * nodes' `status.volumesAttached`. Level-triggered per node; it remembers only since when a volume is no longer
 * wanted.
 */
import type { Node, PersistentVolume, PersistentVolumeClaim, Pod } from '../../api/gen/core-v1.ts';
import {
  CSIDrivers,
  Nodes,
  PersistentVolumeClaims,
  PersistentVolumes,
  Pods,
  VolumeAttachments,
} from '../../api/gen/resources.ts';
import type { CSIDriver, VolumeAttachment } from '../../api/gen/storage-v1.ts';
import type { Stored } from '../../api/object.ts';
import { ignoreNotFound, isReason } from '../../api/status-error.ts';
import { deepEqual } from '../../base/equal.ts';
import type { Client } from '../../client/client.ts';
import { type Informer, onEveryChange } from '../../client/informer.ts';
import { csiSourceOf, migratedInlineVolume } from '../../component-helpers/csi-translation.ts';
import { isNodeReady } from '../../component-helpers/nodes.ts';
import type { Clock } from '../../platform/clock.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import type { Counter } from '../../platform/metrics.ts';
import { type Controller, type ControllerDeps, createKeyedLoop, informerList, type KeyedLoop } from '../controller.ts';
import { AttachEvents } from './attach-events.ts';
import {
  attachmentName,
  isAttachedFor,
  isShareable,
  newAttachment,
  uniqueVolumeName,
  volumeKeyOf,
  type VolumeLookup,
  type WantedVolume,
  wantedVolumes,
} from './attachments.ts';
import { withVolumeCounts } from './metrics.ts';

const ACCOUNT = 'attachdetach-controller';
const NAME = 'persistentvolume-attach-detach-controller';
/** How long an unwanted volume may stay in use on an unhealthy node before it is detached by force. */
const MAX_WAIT_FOR_UNMOUNT_MS = 360_000;
const RETRY_MS = 5000;
const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';

export function createAttachDetachController(deps: ControllerDeps): Controller {
  return new AttachDetachController(deps).controller;
}

/** Upstream: attachdetach.attachDetachController. */
class AttachDetachController {
  readonly #clock: Clock;
  readonly #crypto: CryptoPort;
  readonly #client: Client;
  readonly #events: AttachEvents;
  readonly #pods: Informer<Pod>;
  readonly #nodes: Informer<Node>;
  readonly #claims: Informer<PersistentVolumeClaim>;
  readonly #volumes: Informer<PersistentVolume>;
  readonly #drivers: Informer<CSIDriver>;
  readonly #attachments: Informer<VolumeAttachment>;
  readonly #lookup: VolumeLookup;
  readonly #unwantedSinceMs: Map<string, number>;
  readonly #forced: Counter;
  readonly #loop: KeyedLoop;
  readonly controller: Controller;

  constructor(deps: ControllerDeps) {
    this.#clock = deps.platform.clock;
    this.#crypto = deps.platform.crypto;
    this.#client = deps.clientFor(ACCOUNT);
    this.#pods = deps.informers.informer(Pods);
    this.#nodes = deps.informers.informer(Nodes);
    this.#claims = deps.informers.informer(PersistentVolumeClaims);
    this.#volumes = deps.informers.informer(PersistentVolumes);
    this.#drivers = deps.informers.informer(CSIDrivers);
    this.#attachments = deps.informers.informer(VolumeAttachments);
    this.#lookup = {
      claim: (namespace: string, name: string) => this.#claims.get({ namespace, name }),
      volume: (name: string) => this.#volumes.get({ name }),
      driver: (name: string) => this.#drivers.get({ name }),
    };
    this.#events = new AttachEvents(this.#pods, deps.recorderFor('attachdetach-controller'), this.#lookup);
    this.#unwantedSinceMs = new Map<string, number>();
    this.#forced = deps.platform.metrics.counter({
      name: 'attachdetach_controller_forced_detaches',
      help: 'Volumes taken from nodes that had not let go of them.',
      labels: ['reason'],
    });
    this.#loop = createKeyedLoop(deps, {
      name: NAME,
      queueName: 'attach_detach',
      workers: 5,
      informers: informerList(this.#pods, this.#nodes, this.#claims, this.#volumes, this.#drivers, this.#attachments),
      sync: (node, signal) => this.#reconcileNode(node, signal),
    });
    this.#addHandlers();
    this.controller = withVolumeCounts(this.#loop, deps.platform.metrics, {
      nodes: this.#nodes,
      pods: this.#pods,
      attachments: this.#attachments,
      lookup: this.#lookup,
    });
  }

  async #reconcileNode(node: string, signal: AbortSignal): Promise<void> {
    // Without the annotation the node's kubelet attaches volumes itself.
    const object = this.#nodes.get({ name: node });
    if (object !== undefined && !isAttachedFor(object)) return;
    const wanted = wantedVolumes(this.#pods.byIndex('node', node), this.#lookup);
    const own = this.#attachments.byIndex('node', node);
    const going = own.filter((attachment) => !wanted.has(volumeKeyOf(attachment)));
    const staying = own.filter((attachment) => wanted.has(volumeKeyOf(attachment)));
    for (const attachment of staying) this.#unwantedSinceMs.delete(attachment.metadata.name);
    const leaving = new Set(going.filter((attachment) => this.#mayDetach(node, attachment)));
    if (leaving.size < going.length) this.#loop.queue.addAfter(node, RETRY_MS);
    await this.#updateNodeStatus(
      node,
      own.filter((attachment) => !leaving.has(attachment)),
      signal,
    );
    for (const attachment of leaving) await this.#detach(attachment, signal);
    for (const each of wanted.values()) await this.#attach(node, each, signal);
  }

  /** Whether the node has unmounted the volume, or counts as gone. */
  #mayDetach(nodeName: string, attachment: Stored<VolumeAttachment>): boolean {
    const name = attachment.metadata.name;
    const node = this.#nodes.get({ name: nodeName });
    const since = this.#unwantedSinceMs.get(name) ?? this.#clock.nowMs();
    this.#unwantedSinceMs.set(name, since);
    if (node === undefined) return true;
    const unique = this.#uniqueNameOf(attachment);
    if (unique === undefined || !(node.status?.volumesInUse ?? []).includes(unique)) return true;
    const isLate = !isNodeReady(node) && this.#clock.nowMs() - since > MAX_WAIT_FOR_UNMOUNT_MS;
    if (!isLate && !isOutOfService(node)) return false;
    if (attachment.metadata.deletionTimestamp === undefined)
      this.#forced.inc({ reason: isOutOfService(node) ? 'out-of-service' : 'timeout' });
    return true;
  }

  #uniqueNameOf({ spec }: VolumeAttachment): string | undefined {
    const { inlineVolumeSpec, persistentVolumeName = '' } = spec.source;
    const csi = inlineVolumeSpec?.csi ?? csiSourceOf(this.#volumes.get({ name: persistentVolumeName }));
    return csi === undefined ? undefined : uniqueVolumeName(csi.driver, csi.volumeHandle);
  }

  /**
   * The node's kubelet mounts only what is listed here: a volume is listed once it is attached, and unlisted before
   * it is detached.
   */
  async #updateNodeStatus(name: string, staying: readonly VolumeAttachment[], signal: AbortSignal): Promise<void> {
    const node = this.#nodes.get({ name });
    if (node === undefined) return;
    const listed = staying.flatMap((attachment) => {
      const unique = attachment.status?.attached === true ? this.#uniqueNameOf(attachment) : undefined;
      return unique === undefined ? [] : [{ name: unique, devicePath: '' }];
    });
    listed.sort((a, b) => (a.name < b.name ? -1 : 1));
    if (deepEqual(listed, node.status?.volumesAttached ?? [])) return;
    const patch = { status: { volumesAttached: listed.length === 0 ? null : listed } };
    await this.#client
      .resource(Nodes)
      .patch({ name }, { type: 'merge', patch }, { subresource: 'status', signal })
      .catch(ignoreNotFound);
  }

  async #detach(attachment: Stored<VolumeAttachment>, signal: AbortSignal): Promise<void> {
    const { name, uid, deletionTimestamp } = attachment.metadata;
    this.#unwantedSinceMs.delete(name);
    if (deletionTimestamp !== undefined) return; // the driver is detaching it
    try {
      await this.#client.resource(VolumeAttachments).delete({ name }, { preconditions: { uid }, signal });
    } catch (error) {
      if (!isReason(error, 'NotFound', 'Conflict')) throw error;
    }
  }

  async #attach(node: string, wanted: WantedVolume, signal: AbortSignal): Promise<void> {
    const ofVolume = this.#attachments.byIndex('volume', wanted.key);
    const elsewhere = ofVolume.filter(({ spec }) => spec.nodeName !== node);
    const isTaken = elsewhere.length > 0 && !isShareable(wanted.volume);
    const isHere = elsewhere.length < ofVolume.length;
    // The name is a hash, and waiting volumes come here often: whether another node has the volume is known without
    // it.
    const name = isTaken && !isHere ? '' : attachmentName((text) => this.#crypto.sha256Hex(text), wanted, node);
    const volumeAttachment = name === '' ? undefined : this.#attachments.get({ name });
    if (volumeAttachment !== undefined) return this.#events.progress(wanted, volumeAttachment);
    if (isTaken) {
      this.#events.multiAttach(wanted, elsewhere[0]?.spec.nodeName ?? '');
      return this.#loop.queue.addAfter(node, RETRY_MS);
    }
    try {
      await this.#client.resource(VolumeAttachments).create(newAttachment(name, wanted, node), { signal });
    } catch (error) {
      if (!isReason(error, 'AlreadyExists')) throw error;
    }
  }

  #ofPod(pod: Pod): void {
    if ((pod.spec?.nodeName ?? '') !== '') this.#loop.queue.add(pod.spec?.nodeName ?? '');
  }

  #ofAttachment({ spec }: VolumeAttachment): void {
    this.#loop.queue.add(spec.nodeName);
  }

  #all(): void {
    this.#nodes.list().forEach((node) => this.#loop.queue.add(node.metadata.name));
  }

  #hasClaims(pod: Pod): boolean {
    return (pod.spec?.volumes ?? []).some(
      (volume) =>
        volume.persistentVolumeClaim !== undefined ||
        volume.ephemeral !== undefined ||
        migratedInlineVolume(volume, '') !== undefined,
    );
  }

  #podChanged(pod: Pod): void {
    if ((pod.spec?.nodeName ?? '') !== '' && this.#hasClaims(pod)) this.#ofPod(pod);
  }

  #addHandlers(): void {
    this.#pods.addIndex('node', (pod) => [pod.spec?.nodeName ?? '']);
    this.#attachments.addIndex('node', (attachment) => [attachment.spec.nodeName]);
    this.#attachments.addIndex('volume', (attachment) => [volumeKeyOf(attachment)]);
    this.#pods.addHandler(onEveryChange((pod) => this.#podChanged(pod)));
    this.#attachments.addHandler({
      onAdd: (object) => this.#ofAttachment(object),
      onUpdate: (old, attachment) => {
        if (old.status?.attached !== true && attachment.status?.attached === true) this.#events.attached(attachment);
        this.#ofAttachment(attachment);
      },
      onDelete: (attachment) => {
        this.#ofAttachment(attachment);
        this.#all(); // another node may wait for it
      },
    });
    this.#nodes.addHandler({
      onUpdate: (old, node) => {
        if (hasRelevantChange(old, node)) this.#loop.queue.add(node.metadata.name);
      },
      onDelete: (node) => this.#loop.queue.add(node.metadata.name),
    });
    this.#volumes.addHandler({
      onUpdate: (old, volume) => {
        if (!deepEqual(old.spec, volume.spec)) this.#all();
      },
    });
  }
}

/** Whether the change affects which volumes are attached. */
function hasRelevantChange(old: Node, now: Node): boolean {
  return (
    !deepEqual(old.status?.volumesInUse, now.status?.volumesInUse) ||
    !deepEqual(old.metadata.annotations, now.metadata.annotations) ||
    isOutOfService(now)
  );
}

function isOutOfService(node: Node): boolean {
  return (node.spec?.taints ?? []).some(({ key }) => key === OUT_OF_SERVICE);
}
