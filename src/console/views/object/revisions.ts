/** Earlier states of a workload's pod template: ReplicaSets of a Deployment, ControllerRevisions of others. */
import type { ControllerRevision, ReplicaSet } from '../../../api/gen/apps-v1.ts';
import type { PodTemplateSpec } from '../../../api/gen/core-v1.ts';
import type { LabelSelector } from '../../../api/gen/meta-v1.ts';
import type { KubernetesObject, Stored } from '../../../api/object.ts';
import { sendJson } from '../../api/http.ts';
import { kindId, listPath, type ObjectRef } from '../../api/kinds.ts';
import { patchObject } from '../../api/objects.ts';
import { selectorText } from '../../parts/belongings.ts';

export interface Revision {
  readonly number: number;
  readonly createdMs: number;
  /** The annotation `kubernetes.io/change-cause`. */
  readonly cause: string;
  readonly template: PodTemplateSpec;
  /** Makes the revision the current one, as kubectl does. Rejects with `ApiError`. */
  restore(): Promise<unknown>;
}

/** Workloads that can be rolled back. */
export interface Workload extends KubernetesObject {
  readonly spec?: {
    readonly paused?: boolean;
    readonly selector?: LabelSelector;
    readonly template?: PodTemplateSpec;
  };
}

const REVISION = 'deployment.kubernetes.io/revision';
const CAUSE = 'kubernetes.io/change-cause';
const HASH = 'pod-template-hash';
/** Annotations that a Deployment keeps in a rollback; all others are taken from the revision. */
const OF_DEPLOYMENT: readonly string[] = [
  'kubectl.kubernetes.io/last-applied-configuration',
  REVISION,
  'deployment.kubernetes.io/revision-history',
  'deployment.kubernetes.io/desired-replicas',
  'deployment.kubernetes.io/max-replicas',
  'deprecated.deployment.rollback.to',
];

/** The newest first. Rejects with `ApiError`. */
export async function readRevisions(ref: ObjectRef, workload: Stored<Workload>): Promise<readonly Revision[]> {
  const ofDeployment = kindId(ref.kind) === 'deployments.apps';
  const kind = { ...ref.kind, resource: ofDeployment ? 'replicasets' : 'controllerrevisions' };
  const params = new URLSearchParams({ labelSelector: selectorText(workload.spec?.selector ?? {}) });
  const { items } = await sendJson<{ readonly items: readonly Stored<KubernetesObject>[] }>(
    `${listPath(kind, ref.namespace)}?${params.toString()}`,
  );
  const own = items.filter(({ metadata }) =>
    metadata.ownerReferences?.some(({ uid, controller }) => controller === true && uid === workload.metadata.uid),
  );
  const revisions = ofDeployment
    ? own.map((one) => ofReplicaSet(ref, workload, one as Stored<ReplicaSet>))
    : own.flatMap((one) => ofControllerRevision(ref, one as Stored<ControllerRevision>));
  return revisions.sort((a, b) => b.number - a.number);
}

function ofReplicaSet(ref: ObjectRef, workload: Stored<Workload>, { metadata, spec }: Stored<ReplicaSet>): Revision {
  const { annotations = {}, creationTimestamp = '' } = metadata;
  const { metadata: meta, ...rest } = spec?.template ?? {};
  const { [HASH]: _, ...labels } = meta?.labels ?? {};
  const template: PodTemplateSpec = { ...rest, metadata: { ...meta, labels } };
  const keeps = (key: string): boolean => OF_DEPLOYMENT.includes(key);
  const entries = [
    ...Object.entries(workload.metadata.annotations ?? {}).filter(([key]) => keeps(key)),
    ...Object.entries(annotations).filter(([key]) => !keeps(key)),
  ];
  return {
    number: Number(annotations[REVISION] ?? 0),
    createdMs: Date.parse(creationTimestamp),
    cause: annotations[CAUSE] ?? '',
    template,
    restore: () =>
      patchObject(
        ref,
        [
          { op: 'replace', path: '/spec/template', value: template },
          { op: 'add', path: '/metadata/annotations', value: Object.fromEntries(entries) },
        ],
        { type: 'json' },
      ),
  };
}

/** The data of a ControllerRevision is the patch that restores it. */
function ofControllerRevision(
  ref: ObjectRef,
  { metadata, revision, data }: Stored<ControllerRevision>,
): readonly Revision[] {
  const patch = data as { readonly spec?: { readonly template?: PodTemplateSpec & { readonly $patch?: string } } };
  const { $patch: _, ...template } = patch.spec?.template ?? {};
  if (Object.keys(template).length === 0) return [];
  return [
    {
      number: Number(revision),
      createdMs: Date.parse(metadata.creationTimestamp ?? ''),
      cause: metadata.annotations?.[CAUSE] ?? '',
      template,
      restore: () => patchObject(ref, patch, { type: 'strategic' }),
    },
  ];
}
