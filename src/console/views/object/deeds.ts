/** What can be done to an object, each with the kubectl command it equals. */
import type { KubernetesObject } from '../../../api/object.ts';
import { kindId, type ObjectRef } from '../../api/kinds.ts';
import { deleteObject, patchObject } from '../../api/objects.ts';
import { texts } from '../../app/texts.ts';
import type { Need } from '../../parts/access.ts';

/** One deed. `input` is a number that it takes: replicas. */
export interface Deed {
  readonly label: string;
  readonly needs: Need;
  readonly destroys?: boolean;
  readonly input?: { readonly label: string; readonly value: number };
  command(input: number): string;
  run(input: number): Promise<unknown>;
}

interface Fields {
  readonly replicas?: number;
  readonly paused?: boolean;
  readonly unschedulable?: boolean;
  readonly suspend?: boolean;
}

const PATCH: Need = { verb: 'patch' };
const RESTARTABLE = ['deployments.apps', 'statefulsets.apps', 'daemonsets.apps'];

/** Those that the kind has, as the object stands. */
export function deedsOf(ref: ObjectRef, object: KubernetesObject): readonly Deed[] {
  const { spec = {} } = object as { readonly spec?: Fields };
  const id = kindId(ref.kind);
  const { deeds } = texts.object;
  const found: Deed[] = [];
  if (ref.kind.subresources.includes('scale')) found.push(scale(ref, spec.replicas ?? 1));
  if (RESTARTABLE.includes(id)) found.push(restart(ref));
  if (id === 'deployments.apps')
    found.push(
      spec.paused === true
        ? { ...patching(ref, { spec: { paused: null } }, 'rollout resume'), label: deeds.resumeRollout }
        : { ...patching(ref, { spec: { paused: true } }, 'rollout pause'), label: deeds.pauseRollout },
    );
  if (id === 'nodes')
    found.push(
      spec.unschedulable === true
        ? { ...patching(ref, { spec: { unschedulable: null } }, 'uncordon'), label: deeds.uncordon }
        : { ...patching(ref, { spec: { unschedulable: true } }, 'cordon'), label: deeds.cordon },
    );
  if (id === 'cronjobs.batch' || id === 'jobs.batch') found.push(suspend(ref, spec.suspend !== true));
  if (ref.kind.verbs.includes('delete')) found.push(deletion(ref));
  return found;
}

/** `deployment/web -n shop`; a node of its own command by name alone. */
function target({ kind: { singular, resource, group }, namespace, name }: ObjectRef): string {
  const ofKubernetes = group === '' || !group.includes('.') || group.endsWith('.k8s.io');
  const word = singular || resource;
  return `${ofKubernetes ? word : `${word}.${group}`}/${name}${namespace === '' ? '' : ` -n ${namespace}`}`;
}

function patching(ref: ObjectRef, patch: object, words: string): Omit<Deed, 'label'> {
  const of = ref.kind.resource === 'nodes' ? ref.name : target(ref);
  return { needs: PATCH, command: () => `kubectl ${words} ${of}`, run: () => patchObject(ref, patch) };
}

function scale(ref: ObjectRef, value: number): Deed {
  const { label, replicas } = texts.object.deeds.scale;
  return {
    label,
    needs: { verb: 'patch', subresource: 'scale' },
    input: { label: replicas, value },
    command: (input) => `kubectl scale ${target(ref)} --replicas=${input}`,
    run: (input) => patchObject(ref, { spec: { replicas: input } }, { subresource: 'scale' }),
  };
}

function restart(ref: ObjectRef): Deed {
  return {
    label: texts.object.deeds.restart,
    needs: PATCH,
    command: () => `kubectl rollout restart ${target(ref)}`,
    run: () => {
      const annotations = { 'kubectl.kubernetes.io/restartedAt': new Date().toISOString().replace(/\.\d+/, '') };
      return patchObject(ref, { spec: { template: { metadata: { annotations } } } });
    },
  };
}

function suspend(ref: ObjectRef, on: boolean): Deed {
  const patch = { spec: { suspend: on } };
  return {
    label: on ? texts.object.deeds.suspend : texts.object.deeds.unsuspend,
    needs: PATCH,
    command: () => `kubectl patch ${target(ref)} --type=merge -p '${JSON.stringify(patch)}'`,
    run: () => patchObject(ref, patch),
  };
}

function deletion(ref: ObjectRef): Deed {
  return {
    label: texts.object.deeds.delete,
    needs: { verb: 'delete' },
    destroys: true,
    command: () => `kubectl delete ${target(ref)}`,
    run: () => deleteObject(ref),
  };
}
