/**
 * Which ConfigMaps and Secrets a pod's spec refers to. Upstream: pkg/api/v1/pod (VisitPodSecretNames,
 * VisitPodConfigmapNames).
 */
import type { Container, EphemeralContainer, Pod, Volume } from '../../api/gen/core-v1.ts';
import { podNamespace } from '../types/pod-update.ts';

/** Kinds of objects that a pod's files and environment come from. */
export type ReferencedKind = 'ConfigMap' | 'Secret';

export interface ObjectReference {
  readonly kind: ReferencedKind;
  readonly namespace: string;
  readonly name: string;
}

/** A text that is equal for equal references. */
export function referenceKey(reference: ObjectReference): string {
  return `${reference.kind}/${reference.namespace}/${reference.name}`;
}

type Add = (kind: ReferencedKind, name: string | undefined) => void;

function visitContainer(container: Container | EphemeralContainer, add: Add): void {
  for (const from of container.envFrom ?? []) {
    add('ConfigMap', from.configMapRef?.name);
    add('Secret', from.secretRef?.name);
  }
  for (const { valueFrom } of container.env ?? []) {
    add('ConfigMap', valueFrom?.configMapKeyRef?.name);
    add('Secret', valueFrom?.secretKeyRef?.name);
  }
}

function visitVolume(volume: Volume, add: Add): void {
  add('ConfigMap', volume.configMap?.name);
  add('Secret', volume.secret?.secretName);
  for (const source of volume.projected?.sources ?? []) {
    add('ConfigMap', source.configMap?.name);
    add('Secret', source.secret?.name);
  }
}

/** References of one volume, each once. */
export function volumeReferences(namespace: string, volume: Volume): readonly ObjectReference[] {
  return collect(namespace, (add) => visitVolume(volume, add));
}

/** References of the whole pod, each once. */
export function podReferences(pod: Pod): readonly ObjectReference[] {
  return collect(podNamespace(pod), (add) => {
    const { spec } = pod;
    for (const secret of spec?.imagePullSecrets ?? []) add('Secret', secret.name);
    for (const container of spec?.initContainers ?? []) visitContainer(container, add);
    for (const container of spec?.containers ?? []) visitContainer(container, add);
    for (const container of spec?.ephemeralContainers ?? []) visitContainer(container, add);
    for (const volume of spec?.volumes ?? []) visitVolume(volume, add);
  });
}

function collect(namespace: string, visit: (add: Add) => void): readonly ObjectReference[] {
  const found = new Map<string, ObjectReference>();
  visit((kind, name) => {
    if (name === undefined || name === '') return;
    const reference = { kind, namespace, name };
    found.set(referenceKey(reference), reference);
  });
  return [...found.values()];
}
