/** The actions on objects of each kind. */
import type { CronJob } from '../../../api/gen/batch-v1.ts';
import type { KubernetesObject } from '../../../api/object.ts';
import { type Kind, kindId, listPath, type ObjectRef } from '../../api/kinds.ts';
import { createObject, deleteObject, patchObject } from '../../api/objects.ts';
import { objectHref } from '../../app/hrefs.ts';
import { navigate } from '../../app/router.ts';
import { texts } from '../../app/texts.ts';
import type { Need } from '../../parts/access.ts';
import { type ObjectAction, type ConfirmedAction, target } from './object-action.ts';
import { Drain } from './drain.tsx';
import { Rollback } from './rollback.tsx';

interface Fields {
  readonly replicas?: number;
  readonly paused?: boolean;
  readonly unschedulable?: boolean;
  readonly suspend?: boolean;
}

const PATCH: readonly Need[] = [{ verb: 'patch' }];
const RESTARTABLE = ['deployments.apps', 'statefulsets.apps', 'daemonsets.apps'];

/** The actions of the object's kind, in the object's current state. */
export function actionsOf(ref: ObjectRef, object: KubernetesObject): readonly ObjectAction[] {
  const { spec = {} } = object as { readonly spec?: Fields };
  const id = kindId(ref.kind);
  const { actions } = texts.object;
  const found: ObjectAction[] = [];
  if (ref.kind.subresources.includes('scale')) found.push(scale(ref, spec.replicas ?? 1));
  if (RESTARTABLE.includes(id)) found.push(restart(ref), rollback(id));
  if (id === 'deployments.apps')
    found.push(
      spec.paused === true
        ? { ...patching(ref, { spec: { paused: null } }, 'rollout resume'), label: actions.resumeRollout }
        : { ...patching(ref, { spec: { paused: true } }, 'rollout pause'), label: actions.pauseRollout },
    );
  if (id === 'nodes')
    found.push(
      spec.unschedulable === true
        ? { ...patching(ref, { spec: { unschedulable: null } }, 'uncordon'), label: actions.uncordon }
        : { ...patching(ref, { spec: { unschedulable: true } }, 'cordon'), label: actions.cordon },
    );
  if (id === 'nodes') found.push({ label: actions.drain.label, needs: DRAIN, Dialog: Drain });
  if (id === 'cronjobs.batch') found.push(trigger(ref, object as CronJob));
  if (id === 'cronjobs.batch' || id === 'jobs.batch') found.push(suspend(ref, spec.suspend !== true));
  if (ref.kind.verbs.includes('delete')) found.push(deletion(ref));
  return found;
}

function patching(ref: ObjectRef, patch: object, words: string): Omit<ConfirmedAction, 'label'> {
  const of = ref.kind.resource === 'nodes' ? ref.name : target(ref);
  return { needs: PATCH, command: () => `kubectl ${words} ${of}`, run: () => patchObject(ref, patch) };
}

function scale(ref: ObjectRef, value: number): ObjectAction {
  const { label, replicas } = texts.object.actions.scale;
  return {
    label,
    needs: [{ verb: 'patch', subresource: 'scale' }],
    input: { label: replicas, type: 'number', value: String(value) },
    command: (input) => `kubectl scale ${target(ref)} --replicas=${input}`,
    run: (input) => patchObject(ref, { spec: { replicas: Number(input) } }, { subresource: 'scale' }),
  };
}

function restart(ref: ObjectRef): ObjectAction {
  return {
    label: texts.object.actions.restart,
    needs: PATCH,
    command: () => `kubectl rollout restart ${target(ref)}`,
    run: () => {
      const annotations = { 'kubectl.kubernetes.io/restartedAt': new Date().toISOString().replace(/\.\d+/, '') };
      return patchObject(ref, { spec: { template: { metadata: { annotations } } } });
    },
  };
}

/** A rollback: the revision that it reads, and the write. */
function rollback(id: string): ObjectAction {
  const resource = id === 'deployments.apps' ? 'replicasets' : 'controllerrevisions';
  return {
    label: texts.object.actions.rollback.label,
    needs: [...PATCH, { verb: 'list', group: 'apps', resource }],
    Dialog: Rollback,
  };
}

const DRAIN: readonly Need[] = [
  ...PATCH,
  { verb: 'list', resource: 'pods' },
  { verb: 'create', resource: 'pods', subresource: 'eviction' },
];

/** Job names are at most 63 characters long. */
const LONGEST_PREFIX = 49;

/** As kubectl does: without `blockOwnerDeletion`, which would require a right on the CronJob's finalizers. */
function trigger(ref: ObjectRef, { metadata, spec }: CronJob): ObjectAction {
  const { label, name } = texts.object.actions.trigger;
  const jobs: Kind = { ...ref.kind, resource: 'jobs', kind: 'Job', singular: 'job' };
  const { metadata: template, spec: job } = spec?.jobTemplate ?? {};
  const annotations = { 'cronjob.kubernetes.io/instantiate': 'manual', ...template?.annotations };
  const owner = { apiVersion: 'batch/v1', kind: 'CronJob', name: ref.name, uid: metadata.uid, controller: true };
  return {
    label,
    needs: [{ verb: 'create', group: 'batch', resource: 'jobs' }],
    input: { label: name, type: 'text', value: `${ref.name.slice(0, LONGEST_PREFIX)}-manual-${randomSuffix()}` },
    command: (input) => `kubectl create job ${input} --from=cronjob/${ref.name} -n ${ref.namespace}`,
    run: async (input) => {
      await createObject(listPath(jobs, ref.namespace), {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { name: input, annotations, labels: template?.labels, ownerReferences: [owner] },
        spec: job,
      });
      navigate(objectHref('object', { kind: jobs, namespace: ref.namespace, name: input }));
    },
  };
}

function randomSuffix(): string {
  return [...crypto.getRandomValues(new Uint8Array(5))].map((byte) => SUFFIX[byte % SUFFIX.length]).join('');
}

/** Without vowels, so that no words arise, as in the server's generated names. */
const SUFFIX = 'bcdfghjklmnpqrstvwxz2456789';

function suspend(ref: ObjectRef, on: boolean): ObjectAction {
  const patch = { spec: { suspend: on } };
  return {
    label: on ? texts.object.actions.suspend : texts.object.actions.unsuspend,
    needs: PATCH,
    command: () => `kubectl patch ${target(ref)} --type=merge -p '${JSON.stringify(patch)}'`,
    run: () => patchObject(ref, patch),
  };
}

function deletion(ref: ObjectRef): ObjectAction {
  return {
    label: texts.object.actions.delete,
    needs: [{ verb: 'delete' }],
    destroys: true,
    command: () => `kubectl delete ${target(ref)}`,
    run: () => deleteObject(ref),
  };
}
