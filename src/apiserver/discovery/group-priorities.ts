/** Which groups come first. Upstream: the group priorities of kube-apiserver's APIServices. */

import { compareTexts } from '../../base/compare-texts.ts';

/** Groups of equal priority stand in the order of their names. */
const PRIORITIES: Readonly<Record<string, number>> = {
  '': 18_000,
  'apiregistration.k8s.io': 18_000,
  apps: 17_800,
  'events.k8s.io': 17_750,
  'authentication.k8s.io': 17_700,
  'authorization.k8s.io': 17_600,
  autoscaling: 17_500,
  batch: 17_400,
  'certificates.k8s.io': 17_300,
  'networking.k8s.io': 17_200,
  policy: 17_100,
  'rbac.authorization.k8s.io': 17_000,
  'storage.k8s.io': 16_800,
  'storagemigration.k8s.io': 16_800,
  'apiextensions.k8s.io': 16_700,
  'admissionregistration.k8s.io': 16_700,
  'scheduling.k8s.io': 16_600,
  'coordination.k8s.io': 16_500,
  'node.k8s.io': 16_300,
  'discovery.k8s.io': 16_200,
  'resource.k8s.io': 16_200,
  'flowcontrol.apiserver.k8s.io': 16_100,
  'internal.apiserver.k8s.io': 16_000,
};
/** The priority of groups of definitions. */
export const CUSTOM_GROUP = 1000;

/** The priority of a group; undefined for a custom one. */
export function priorityOfGroup(group: string): number | undefined {
  return Object.hasOwn(PRIORITIES, group) ? PRIORITIES[group] : undefined;
}

/** The order of groups: a custom group comes after all others. */
export function compareGroups(a: string, b: string): number {
  return (priorityOfGroup(b) ?? CUSTOM_GROUP) - (priorityOfGroup(a) ?? CUSTOM_GROUP) || compareTexts(a, b);
}
