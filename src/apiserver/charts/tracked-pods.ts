/**
 * To whom the pods of the kubelets' summaries belong. A pod is read from the cache when it is first seen: not with each sample,
 * since the cache would decode all of them.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import { Pods } from '../../api/gen/resources.ts';
import type { Stored } from '../../api/object.ts';
import type { SummaryPod } from '../metrics-api/node-summaries.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { Subject } from './measures.ts';
import { Traffic } from './traffic.ts';
import { type Workload, workloadsOf } from './workloads.ts';

export interface TrackedPod {
  readonly uid: string;
  readonly subject: Subject;
  readonly node: string;
  readonly workloads: readonly Workload[];
  readonly traffic: Traffic;
}

interface Entry extends TrackedPod {
  /** The slot of its last sample. */
  seen: number;
}

/** The number of samples for which a pod that is in no summary is remembered: its containers may wait five minutes for a restart. */
const REMEMBERED_SAMPLES = 20;

export class TrackedPods {
  readonly #objects: ObjectStore;
  readonly #pods = new Map<string, Entry>();

  constructor(objects: ObjectStore) {
    this.#objects = objects;
  }

  /** The pod of a node's summary. Undefined: it is not, or no longer, a pod of that node. */
  reported(node: string, { podRef: { namespace, name, uid = '' } }: SummaryPod, slot: number): TrackedPod | undefined {
    const entry = this.#pods.get(uid);
    if (entry !== undefined) {
      if (entry.node !== node) return undefined;
      entry.seen = slot;
      return entry;
    }
    const pod = this.#objects.get(Pods, namespace, name);
    return pod?.metadata.uid === uid && pod.spec?.nodeName === node ? this.stored(pod, slot) : undefined;
  }

  stored(pod: Stored<Pod>, slot: number): TrackedPod {
    const { namespace, name, uid } = pod.metadata;
    let entry = this.#pods.get(uid);
    if (entry === undefined) {
      entry = {
        uid,
        subject: { kind: 'pods', namespace, name },
        node: pod.spec?.nodeName ?? '',
        workloads: workloadsOf(this.#objects, pod, namespace),
        traffic: new Traffic(),
        seen: slot,
      };
      this.#pods.set(uid, entry);
    }
    entry.seen = slot;
    return entry;
  }

  forgetUnseen(slot: number): void {
    for (const [uid, { seen }] of this.#pods) if (seen <= slot - REMEMBERED_SAMPLES) this.#pods.delete(uid);
  }
}
