/** Names, ordinals and pods of a StatefulSet. Pure. Upstream: statefulset/stateful_set_utils.go. */
import { StatefulSets } from '../../api/gen/resources.ts';
import type { StatefulSet } from '../../api/gen/apps-v1.ts';
import type { Pod, PodTemplateSpec, Volume } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { isPodAvailable, isPodReady } from '../../component-helpers/pods.ts';
import { REVISION_HASH_LABEL } from '../controller-history.ts';
import { podFromTemplate } from '../pod-control.ts';

const POD_NAME_LABEL = 'statefulset.kubernetes.io/pod-name';
const POD_INDEX_LABEL = 'apps.kubernetes.io/pod-index';

/** Prefix and number of a pod's name; undefined for names without a number. */
function splitPodName(name: string): { readonly parent: string; readonly ordinal: number } | undefined {
  const match = /^(.*)-([0-9]+)$/.exec(name);
  if (match === null) return undefined;
  const ordinal = Number(match[2]);
  return Number.isSafeInteger(ordinal) && ordinal < 2 ** 31 ? { parent: match[1] ?? '', ordinal } : undefined;
}

/** The pod's ordinal; -1 for a name without a number. */
export function ordinalOf(pod: Pod): number {
  return splitPodName(pod.metadata.name ?? '')?.ordinal ?? -1;
}

/** Whether the pod has a name of the set. */
export function isMember(set: StatefulSet, pod: Stored<Pod>): boolean {
  return splitPodName(pod.metadata.name)?.parent === set.metadata.name;
}

/** First ordinal and number of replicas. */
export function ordinalRange(set: StatefulSet): { readonly start: number; readonly count: number } {
  return { start: set.spec?.ordinals?.start ?? 0, count: set.spec?.replicas ?? 1 };
}

/** Whether the ordinal is within the replicas. */
export function inRange(set: StatefulSet, ordinal: number): boolean {
  const { start, count } = ordinalRange(set);
  return ordinal >= start && ordinal < start + count;
}

/** Whether pods are created and deleted in parallel (podManagementPolicy). */
export function allowsBurst(set: StatefulSet): boolean {
  return set.spec?.podManagementPolicy === 'Parallel';
}

/** Running with a true Ready condition. */
export function isRunningAndReady(pod: Pod): boolean {
  return pod.status?.phase === 'Running' && isPodReady(pod);
}

/** Running, available and not terminating. */
export function isHealthy(set: StatefulSet, pod: Pod | undefined, nowMs: number): boolean {
  if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return false;
  return isRunningAndReady(pod) && isPodAvailable(pod, set.spec?.minReadySeconds ?? 0, nowMs);
}

/** The revision a pod was made from. */
export function revisionOf(pod: Pod): string {
  return pod.metadata.labels?.[REVISION_HASH_LABEL] ?? '';
}

/** Name of the claim made from a template for an ordinal. */
export function claimName(set: Stored<StatefulSet>, template: string, ordinal: number): string {
  return `${template}-${set.metadata.name}-${ordinal}`;
}

/** The pod of an ordinal, made from a revision's template. */
export function newPod(
  set: Stored<StatefulSet>,
  ordinal: number,
  revision: { readonly name: string; readonly template: PodTemplateSpec },
): Pod {
  const { generateName: _, ...metadata } = podFromTemplate(revision.template, set, StatefulSets).metadata;
  const name = `${set.metadata.name}-${ordinal}`;
  const template = revision.template.spec;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...metadata,
      name,
      labels: { ...metadata.labels, ...identityLabels(name, ordinal), [REVISION_HASH_LABEL]: revision.name },
    },
    spec: {
      ...template,
      containers: template?.containers ?? [],
      hostname: name,
      ...((set.spec?.serviceName ?? '') === '' ? {} : { subdomain: set.spec?.serviceName ?? '' }),
      volumes: withClaims(set, ordinal, template?.volumes ?? []),
    },
  };
}

function identityLabels(name: string, ordinal: number): Record<string, string> {
  return { [POD_NAME_LABEL]: name, [POD_INDEX_LABEL]: String(ordinal) };
}

/** A claim's volume replaces one of the same name in the template. */
function withClaims(set: Stored<StatefulSet>, ordinal: number, volumes: readonly Volume[]): Volume[] {
  const templates = (set.spec?.volumeClaimTemplates ?? []).map((claim) => claim.metadata.name ?? '');
  const claims = templates.map((name) => ({
    name,
    persistentVolumeClaim: { claimName: claimName(set, name, ordinal) },
  }));
  const replaced = new Set(templates);
  return [...claims, ...volumes.filter((volume) => !replaced.has(volume.name))];
}

/** The identity labels that a pod lacks; undefined when it has them all. */
export function missingIdentity(pod: Stored<Pod>): Record<string, string> | undefined {
  const wanted = identityLabels(pod.metadata.name, ordinalOf(pod));
  const labels = pod.metadata.labels ?? {};
  return labels[POD_NAME_LABEL] === wanted[POD_NAME_LABEL] ? undefined : wanted;
}
