/** Events about attached and refused volumes, on the pods that use or wait for them. Upstream: reportMultiAttachError, operation_generator.go. */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { VolumeAttachment } from '../../api/gen/storage-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import type { Informer } from '../../client/informer.ts';
import { isPodTerminal } from '../../component-helpers/pods.ts';
import {
  referencesOf,
  referenceTo,
  volumeKeyOf,
  type VolumeLookup,
  wantedByReference,
  type WantedVolume,
} from './attachments.ts';

const PODS_BY_VOLUME = 'pods by the references of their volumes';

export class AttachEvents {
  readonly #pods: Informer<Pod>;
  readonly #recorder: EventRecorder;
  readonly #lookup: VolumeLookup;

  constructor(pods: Informer<Pod>, recorder: EventRecorder, lookup: VolumeLookup) {
    this.#pods = pods;
    this.#recorder = recorder;
    this.#lookup = lookup;
    pods.addIndex(PODS_BY_VOLUME, referencesOf);
  }

  multiAttach({ key, inline, volume, pods: waiting }: WantedVolume, node: string): void {
    const name = JSON.stringify(volume.metadata.name ?? '');
    // A waiting pod may use the volume through another claim than the one it is bound to.
    const users = this.#podsUsing(inline ? key : referenceTo(volume), node)
      .filter((pod) => !isPodTerminal(pod))
      .map((pod) => pod.metadata.name);
    const why =
      users.length === 0
        ? "Volume is already exclusively attached to one node and can't be attached to another"
        : `Volume is already used by pod(s) ${users.join(', ')}`;
    for (const pod of waiting)
      this.#recorder.event(pod, 'Warning', 'FailedAttachVolume', `Multi-Attach error for volume ${name} ${why}`);
  }

  progress({ volume, pods: waiting }: WantedVolume, { status }: VolumeAttachment): void {
    const message = status?.attachError?.message;
    if (message === undefined || status?.attached === true) return;
    const name = JSON.stringify(volume.metadata.name ?? '');
    for (const pod of waiting)
      this.#recorder.event(
        pod,
        'Warning',
        'FailedAttachVolume',
        `AttachVolume.Attach failed for volume ${name} : ${message}`,
      );
  }

  /** Uses an index, since a node may have many pods with thousands of volumes. */
  #podsUsing(reference: string, node: string): Stored<Pod>[] {
    return this.#pods.byIndex(PODS_BY_VOLUME, reference).filter(({ spec }) => spec?.nodeName === node);
  }

  attached(attachment: VolumeAttachment): void {
    const { source, nodeName } = attachment.spec;
    const key = volumeKeyOf(attachment);
    const volume = source.persistentVolumeName === undefined ? undefined : this.#lookup.volume(key);
    const reference = volume === undefined ? key : referenceTo(volume);
    for (const pod of this.#podsUsing(reference, nodeName)) {
      const wanted = wantedByReference(pod, reference, this.#lookup);
      if (wanted?.key !== key) continue;
      const message = `AttachVolume.Attach succeeded for volume ${JSON.stringify(wanted.volume.metadata.name)} `;
      this.#recorder.event(pod, 'Normal', 'SuccessfulAttachVolume', message);
    }
  }
}
