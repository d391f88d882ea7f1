/**
 * Creates, repairs and deletes the pods of a StatefulSet with their claims. Upstream:
 * statefulset/stateful_pod_control.go.
 */
import { PersistentVolumeClaims, Pods } from '../../api/gen/resources.ts';
import { ignoreAlreadyExists, ignoreNotFound, isReason } from '../../api/status-error.ts';
import type { StatefulSet } from '../../api/gen/apps-v1.ts';
import type { PersistentVolumeClaim, Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Client } from '../../client/client.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import type { Informer } from '../../client/informer.ts';
import { claimFrom, claimKey, claimOwners, isStale } from './claims.ts';
import { missingIdentity, ordinalOf } from './identity.ts';

/** Acts on the pods of one sync. */
export interface StatefulPodControl {
  /** Creates the claims, then the pod. False, without a change, while a claim is being deleted with an earlier pod. */
  create(set: Stored<StatefulSet>, pod: Pod): Promise<boolean>;
  /** Creates missing claims of a pending pod, and repairs labels and claim owners. */
  repair(set: Stored<StatefulSet>, pod: Stored<Pod>): Promise<void>;
  /** Sets the owners of the pod's claims by the retention policy. */
  retainClaims(set: Stored<StatefulSet>, pod: Stored<Pod>): Promise<void>;
  remove(set: Stored<StatefulSet>, pod: Stored<Pod>): Promise<void>;
}

export interface StatefulPodControlDeps {
  readonly client: Client;
  readonly recorder: EventRecorder;
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly signal: AbortSignal;
}

type Verb = 'create' | 'update' | 'delete';
const SUCCESS = { create: 'SuccessfulCreate', update: 'SuccessfulUpdate', delete: 'SuccessfulDelete' } as const;
const FAILURE = { create: 'FailedCreate', update: 'FailedUpdate', delete: 'FailedDelete' } as const;

/** All calls end with the signal. */
export function createStatefulPodControl(deps: StatefulPodControlDeps): StatefulPodControl {
  const { client, recorder, claims, signal } = deps;
  const pods = client.resource(Pods);
  const claimClient = client.resource(PersistentVolumeClaims);

  async function recorded<T>(
    set: Stored<StatefulSet>,
    what: { readonly verb: Verb; readonly text: string; readonly done: string },
    work: () => Promise<T>,
  ): Promise<T> {
    const text = `${what.verb} ${what.text} in StatefulSet ${set.metadata.name}`;
    try {
      const result = await work();
      recorder.event(set, 'Normal', SUCCESS[what.verb], `${text} ${what.done}`);
      return result;
    } catch (error) {
      const quiet =
        signal.aborted || isReason(error, 'AlreadyExists') || (what.verb === 'delete' && isReason(error, 'NotFound'));
      if (!quiet) recorder.event(set, 'Warning', FAILURE[what.verb], `${text} failed error: ${errorMessage(error)}`);
      throw error;
    }
  }

  async function createClaims(set: Stored<StatefulSet>, pod: Pod): Promise<void> {
    const ordinal = ordinalOf(pod);
    for (const template of templatesOf(set)) {
      const key = claimKey(set, template, ordinal);
      const { name } = key;
      const existing = claims.get(key);
      if (existing?.metadata.deletionTimestamp !== undefined) throw new Error(`pvc ${name} is being deleted`);
      if (existing !== undefined) continue;
      const claim = claimFrom(set, template, ordinal);
      const what = { verb: 'create', text: `Claim ${name} Pod ${pod.metadata.name}`, done: 'success' } as const;
      await recorded(set, what, () => claimClient.create(claim, { signal })).catch(ignoreAlreadyExists);
    }
  }

  async function retainClaims(set: Stored<StatefulSet>, pod: Stored<Pod>): Promise<void> {
    const ordinal = ordinalOf(pod);
    for (const template of templatesOf(set)) {
      const claim = claims.get(claimKey(set, template, ordinal));
      const ownerReferences = claim === undefined ? undefined : claimOwners(set, pod, claim);
      if (claim === undefined || ownerReferences === undefined) continue;
      await claimClient.update({ ...claim, metadata: { ...claim.metadata, ownerReferences } }, { signal });
    }
  }

  return {
    retainClaims,
    async create(set, pod) {
      const ordinal = ordinalOf(pod);
      const isBlocked = templatesOf(set).some((template) => {
        const claim = claims.get(claimKey(set, template, ordinal));
        return claim !== undefined && isStale(claim, undefined, pod.metadata.name ?? '');
      });
      if (isBlocked) return false;
      await createClaims(set, pod);
      const created = await recorded(
        set,
        { verb: 'create', text: `Pod ${pod.metadata.name}`, done: 'successful' },
        () => pods.create(pod, { signal }),
      );
      await retainClaims(set, created);
      return true;
    },
    async repair(set, pod) {
      if (pod.status?.phase === 'Pending') await createClaims(set, pod);
      await retainClaims(set, pod);
      const labels = missingIdentity(pod);
      if (labels === undefined) return;
      const { namespace, name } = pod.metadata;
      const what = { verb: 'update', text: `Pod ${name}`, done: 'successful' } as const;
      await recorded(set, what, () =>
        pods.patch({ namespace, name }, { type: 'merge', patch: { metadata: { labels } } }, { signal }),
      );
    },
    async remove(set, pod) {
      const { namespace, name, uid } = pod.metadata;
      const what = { verb: 'delete', text: `Pod ${name}`, done: 'successful' } as const;
      await recorded(set, what, () => pods.delete({ namespace, name }, { signal, preconditions: { uid } })).catch(
        ignoreNotFound,
      );
    },
  };
}

function templatesOf({ spec }: StatefulSet): readonly PersistentVolumeClaim[] {
  return spec?.volumeClaimTemplates ?? [];
}
