/**
 * Features that not every node's kubelet has yet: nodes declare them in `status.declaredFeatures`, and pods that need
 * one are only scheduled where it is declared. One list for the kubelet (what it declares), the scheduler and the API
 * server (what a pod or its change needs). Pure. Upstream: component-helpers/nodedeclaredfeatures.
 */
import type { Container, Node, Pod, PodSpec } from '../api/gen/core-v1.ts';
import { compareQuantities } from '../api/quantity.ts';
import { deepEqual } from '../base/equal.ts';

interface DeclaredFeature {
  /** Also the name of the feature gate. */
  readonly name: string;
  /** Whether a pod with this spec needs the feature. */
  readonly toSchedule?: (spec: PodSpec) => boolean;
  /** Whether this change of a pod needs the feature on the pod's node. */
  readonly toUpdate?: (before: PodSpec, now: PodSpec) => boolean;
}

/** Sorted by name, the order in which nodes must list them. */
const FEATURES = [
  { name: 'ExtendWebSocketsToKubelet' },
  { name: 'InPlacePodLevelResourcesVerticalScaling', toUpdate: resizesPodLevel },
  { name: 'InPlacePodVerticalScalingInitContainers', toUpdate: resizesInitContainers },
  { name: 'RestartAllContainersOnContainerExits', toSchedule: restartsAllContainers },
  {
    name: 'UserNamespacesHostNetworkSupport',
    toSchedule: ({ hostNetwork, hostUsers }) => hostNetwork === true && hostUsers === false,
  },
] as const satisfies readonly DeclaredFeature[];

const features: readonly DeclaredFeature[] = FEATURES;
const NONE: readonly string[] = [];

/** A feature that nodes may declare. */
export type NodeFeature = (typeof FEATURES)[number]['name'];

/** The features among these that a node declares; sorted. */
export function declaredFeatures(has: (feature: NodeFeature) => boolean): readonly NodeFeature[] {
  return FEATURES.filter(({ name }) => has(name)).map(({ name }) => name);
}

const remembered = new WeakMap<PodSpec, readonly string[]>();

/** Features a node must declare for the pod to run there; sorted. Remembered per spec. */
export function featuresToSchedule({ spec }: Pod): readonly string[] {
  if (spec === undefined) return NONE;
  let found = remembered.get(spec);
  if (found === undefined) {
    const needed = features.filter(({ toSchedule }) => toSchedule?.(spec) === true).map(({ name }) => name);
    remembered.set(spec, (found = needed.length === 0 ? NONE : needed));
  }
  return found;
}

/** Features the pod's node must declare for the pod to change like this; sorted. */
export function featuresToUpdate(before: Pod, now: Pod): readonly string[] {
  const [old, spec] = [before.spec, now.spec];
  if (old === undefined || spec === undefined) return NONE;
  return features.filter(({ toUpdate }) => toUpdate?.(old, spec) === true).map(({ name }) => name);
}

/** The features of `needed` that the node does not declare. */
export function undeclaredFeatures(needed: readonly string[], node: Node): readonly string[] {
  if (needed.length === 0) return NONE;
  const declared = node.status?.declaredFeatures ?? NONE;
  return needed.filter((name) => !declared.includes(name));
}

function restartsAllContainers({ containers, initContainers = [] }: PodSpec): boolean {
  return [...containers, ...initContainers].some(
    ({ restartPolicyRules }) => restartPolicyRules?.some(({ action }) => action === 'RestartAllContainers') === true,
  );
}

function resizesPodLevel(before: PodSpec, now: PodSpec): boolean {
  return !sameResources(before.resources, now.resources);
}

function resizesInitContainers({ initContainers = [] }: PodSpec, now: PodSpec): boolean {
  return initContainers.some(
    ({ restartPolicy, resources }, index) =>
      restartPolicy !== 'Always' && !deepEqual(resources ?? {}, now.initContainers?.[index]?.resources ?? {}),
  );
}

function sameResources(a: Container['resources'], b: Container['resources']): boolean {
  if (a === undefined || b === undefined) return a === b;
  return (['requests', 'limits'] as const).every((kind) => sameAmounts(a[kind] ?? {}, b[kind] ?? {}));
}

function sameAmounts(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => b[name] !== undefined && compareQuantities(a[name]!, b[name]) === 0)
  );
}
