/** Pods the API server has bound to this node. Upstream: pkg/kubelet/config/apiserver.go. */
import { onAbort } from '../../base/abort.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { Pods } from '../../api/gen/resources.ts';
import type { Informer, InformerFactory } from '../../client/informer.ts';
import { podUid } from '../types/pod-update.ts';
import type { PodConfigSource } from './pod-config.ts';

/** The informer of this node's pods. */
export function nodePodInformer(informers: InformerFactory, nodeName: string): Informer<Pod> {
  return informers.informer(Pods, { fieldSelector: `spec.nodeName=${nodeName}` });
}

/** Feeds `sink` until the signal aborts. The first set is sent when the informer has the complete list, so that pods are admitted by age. */
export function startApiserverSource(informer: Informer<Pod>, sink: PodConfigSource, signal: AbortSignal): void {
  let live = false;
  const removeHandler = informer.addHandler({
    onAdd: (pod) => {
      if (live) sink.upsert(pod);
    },
    onUpdate: (_before, pod) => {
      if (live) sink.upsert(pod);
    },
    onDelete: (pod) => {
      if (live) sink.remove(podUid(pod));
    },
  });
  onAbort(signal, removeHandler);
  informer.waitForSync(signal).then(
    () => {
      sink.set(informer.list());
      live = true;
    },
    () => undefined,
  );
}
