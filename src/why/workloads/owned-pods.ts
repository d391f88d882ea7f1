/** The pods of a workload, and the causes of those that are not ready. */
import { isControlledBy } from '../../component-helpers/owner-references.ts';
import { Pods } from '../../api/gen/resources.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { formatLabelSelector } from '../../api/label-selector.ts';
import type { LabelSelector } from '../../api/gen/meta-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { isPodActive, isPodReady } from '../../component-helpers/pods.ts';
import type { Evidence } from '../evidence.ts';
import { cause, firstCauses, type Cause } from '../explanation.ts';
import { nameOfObject } from '../object-name.ts';

/** The limit of pods that are explained; the others usually have the same cause. */
const MAX_EXPLAINED = 3;

/** Pods whose controller is the object. */
export async function ownedPods(
  owner: KubernetesObject,
  selector: LabelSelector | undefined,
  evidence: Evidence,
): Promise<readonly Pod[]> {
  const { namespace = '' } = owner.metadata;
  const labelSelector = selector === undefined ? '' : formatLabelSelector(selector);
  const pods = await evidence.list(Pods, { namespace, ...(labelSelector === '' ? {} : { labelSelector }) });
  return pods.filter((pod) => isControlledBy(pod, owner));
}

/** A cause for each of the first pods that should run and are not ready. Pods with the same first cause are listed once. */
export async function unreadyPodCauses(pods: readonly Pod[], evidence: Evidence): Promise<readonly Cause[]> {
  const unready = pods.filter((pod) => isPodActive(pod) && !isPodReady(pod));
  const causes: Cause[] = [];
  for (const pod of unready.slice(0, MAX_EXPLAINED)) {
    const diagnosis = await evidence.explain(Pods, pod);
    if (diagnosis.state === 'Progressing') continue;
    const object = nameOfObject(Pods, pod);
    const message = `pod ${object.name} ${diagnosis.summary}`;
    const others = unready.length > 1 ? [`${unready.length} pods are not ready`] : [];
    causes.push(cause({ code: 'PodNotReady', object, message, facts: others, because: diagnosis.causes }));
  }
  return withoutRepetition(causes);
}

function withoutRepetition(causes: readonly Cause[]): readonly Cause[] {
  const seen = new Set<string>();
  return causes.filter((one) => {
    const key = firstCauses(one.because)
      .map(({ code }) => code)
      .join();
    if (key !== '' && seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/** A cause for the first of the failed pods. */
export async function failedPodCauses(pods: readonly Pod[], evidence: Evidence): Promise<readonly Cause[]> {
  const failed = pods.filter(({ status }) => status?.phase === 'Failed');
  const causes: Cause[] = [];
  for (const pod of failed.slice(0, MAX_EXPLAINED)) {
    const { summary, causes: because } = await evidence.explain(Pods, pod);
    const object = nameOfObject(Pods, pod);
    causes.push(cause({ code: 'PodFailed', object, message: `pod ${object.name} ${summary}`, because }));
  }
  return withoutRepetition(causes);
}
