/** The objects to which an object refers, by the fields of Kubernetes' kinds. */
import type { ObjectReference, PodSpec } from '../../../api/gen/core-v1.ts';
import type { IngressSpec } from '../../../api/gen/networking-v1.ts';
import type { RoleRef, Subject } from '../../../api/gen/rbac-v1.ts';
import type { KubernetesObject } from '../../../api/object.ts';
import { kindId, type ObjectRef } from '../../api/kinds.ts';

/** An object that another one refers to. */
export interface Mention {
  /** The kind as `findKind` accepts it. */
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** The fields of several kinds' specs that are read here. */
interface Fields {
  readonly template?: { readonly spec?: PodSpec };
  readonly volumeName?: string;
  readonly storageClassName?: string;
  readonly claimRef?: ObjectReference;
  readonly scaleTargetRef?: { readonly kind: string; readonly name: string };
  readonly rules?: IngressSpec['rules'];
}

/** Objects to which the fields of this one refer: node, volumes, claims, targets, roles. */
export function mentionsOf({ kind, namespace }: ObjectRef, object: KubernetesObject): readonly Mention[] {
  const {
    spec = {},
    roleRef,
    subjects,
  } = object as {
    readonly spec?: Fields;
    readonly roleRef?: RoleRef;
    readonly subjects?: readonly Subject[];
  };
  const found: Mention[] = [];
  const add: Add = (resource, name, where = namespace) => {
    if (name !== undefined && name !== '') found.push({ kind: resource, namespace: where, name });
  };
  const id = kindId(kind);
  ofPod(id === 'pods' ? (spec as PodSpec) : (spec.template?.spec ?? {}), add);
  if (id === 'persistentvolumeclaims') {
    add('persistentvolumes', spec.volumeName, '');
    add('storageclasses', spec.storageClassName, '');
  }
  if (id === 'persistentvolumes') add('persistentvolumeclaims', spec.claimRef?.name, spec.claimRef?.namespace);
  if (id === 'horizontalpodautoscalers.autoscaling') add(spec.scaleTargetRef?.kind ?? '', spec.scaleTargetRef?.name);
  if (id === 'ingresses.networking.k8s.io')
    for (const { http } of spec.rules ?? [])
      for (const { backend } of http?.paths ?? []) add('services', backend.service?.name);
  if (roleRef !== undefined) add(roleRef.kind, roleRef.name, roleRef.kind === 'Role' ? namespace : '');
  for (const subject of subjects ?? [])
    if (subject.kind === 'ServiceAccount') add('serviceaccounts', subject.name, subject.namespace);
  return [...new Map(found.map((one) => [Object.values(one).join('/'), one])).values()];
}

type Add = (kind: string, name: string | undefined, namespace?: string) => void;

function ofPod(spec: Partial<PodSpec>, add: Add): void {
  add('nodes', spec.nodeName, '');
  add('serviceaccounts', spec.serviceAccountName);
  for (const { persistentVolumeClaim, configMap, secret, projected } of spec.volumes ?? []) {
    add('persistentvolumeclaims', persistentVolumeClaim?.claimName);
    add('configmaps', configMap?.name);
    add('secrets', secret?.secretName);
    for (const source of projected?.sources ?? []) {
      add('configmaps', source.configMap?.name);
      add('secrets', source.secret?.name);
    }
  }
  for (const { envFrom, env } of [...(spec.initContainers ?? []), ...(spec.containers ?? [])]) {
    for (const source of envFrom ?? []) {
      add('configmaps', source.configMapRef?.name);
      add('secrets', source.secretRef?.name);
    }
    for (const { valueFrom } of env ?? []) {
      add('configmaps', valueFrom?.configMapKeyRef?.name);
      add('secrets', valueFrom?.secretKeyRef?.name);
    }
  }
}
