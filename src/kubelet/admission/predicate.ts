/**
 * Whether the node can run a pod: the last check after the scheduler, and the only one for static pods. Pods come with their
 * defaults. Pure.
 * Upstream: pkg/kubelet/lifecycle/predicate.go, pkg/kubelet/sysctl, pkg/kubelet/lifecycle/handlers.go.
 */
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import { quantityValue } from '../../api/quantity.ts';
import { findUntoleratedTaint } from '../../api/taints-tolerations.ts';
import { anyHostPortsCollide, hostPortsOf } from '../../component-helpers/host-ports.ts';
import { featuresToSchedule } from '../../component-helpers/node-declared-features.ts';
import { nodeSelectorMatches } from '../../component-helpers/node-affinity.ts';
import {
  addAmounts,
  amountsOf,
  emptyAmounts,
  podRequests,
  type ResourceAmounts,
} from '../../component-helpers/pod-resources.ts';
import { isServedByClaim } from '../../component-helpers/resource-claims.ts';
import type { AdmissionReason } from '../event-reasons.ts';
import { forbiddenSysctl } from './sysctls.ts';
import { isStaticPod, podSource, isCriticalPod } from '../types/pod-update.ts';

/** Reason and message go to the pod's status. */
export type AdmissionResult =
  | { readonly admit: true }
  | {
      readonly admit: false;
      readonly reason: AdmissionReason;
      readonly message: string;
      /** The insufficient resources, if nothing else excludes the pod. */
      readonly lacking?: readonly InsufficientResource[];
    };

/**
 * A resource that the node has too little of. Amounts as in upstream's messages: milli for cpu, whole units
 * otherwise.
 */
export interface InsufficientResource {
  readonly resource: string;
  readonly requested: number;
  readonly used: number;
  readonly capacity: number;
}

/** The other pods of the node. Most pods are admitted without listing them. */
export interface OtherPods {
  /** Includes pods that hold no resources any more. */
  readonly count: number;
  /** Pods that hold resources, with their allocated resources. */
  readonly active: () => readonly Pod[];
}

export interface AdmissionInput {
  readonly pod: Pod;
  /** Undefined before registration: checks that need the node are then skipped. */
  readonly node: Node | undefined;
  readonly others: OtherPods;
  readonly operatingSystem: string;
  readonly allowedUnsafeSysctls: readonly string[];
  /** Sources whose pods may use the host's namespaces; absent: all. */
  readonly hostNamespaceSources?: Readonly<Record<'network' | 'pid' | 'ipc', readonly string[]>>;
  /** Features that the node declares; absent: they are not checked. */
  readonly declaredFeatures?: readonly string[];
}

const ADMIT: AdmissionResult = { admit: true };

function reject(reason: AdmissionReason, message: string): AdmissionResult & { readonly admit: false } {
  return { admit: false, reason, message };
}

function checkOs({ pod, operatingSystem }: AdmissionInput): AdmissionResult {
  const wanted = pod.spec?.os?.name;
  if (wanted !== undefined && wanted !== '' && wanted !== operatingSystem) {
    return reject('PodOSNotSupported', "Failed to admit pod as the OS field doesn't match node OS");
  }
  const label = pod.spec?.nodeSelector?.['kubernetes.io/os'];
  if (label !== undefined && label !== operatingSystem) {
    return reject(
      'PodOSSelectorNodeLabelDoesNotMatch',
      "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
    );
  }
  return ADMIT;
}

function checkSysctls({ pod, allowedUnsafeSysctls }: AdmissionInput): AdmissionResult {
  const problem = forbiddenSysctl(pod, allowedUnsafeSysctls);
  return problem === undefined ? ADMIT : reject('SysctlForbidden', problem);
}

/** Amounts by name, in the units of upstream's message: milli for cpu, whole units otherwise. */
export function amountsByName(amounts: Readonly<ResourceAmounts>): Readonly<Record<string, number>> {
  return {
    cpu: amounts.milliCpu,
    memory: amounts.memoryBytes,
    'ephemeral-storage': amounts.ephemeralBytes,
    ...amounts.scalars,
  };
}

function lackingPlace(maxPods: string, others: OtherPods): InsufficientResource[] {
  const capacity = quantityValue(maxPods);
  if (others.count + 1 <= capacity) return [];
  const used = others.active().length;
  return used + 1 > capacity ? [{ resource: 'pods', requested: 1, used, capacity }] : [];
}

function lackingResources({ pod, node, others }: AdmissionInput): InsufficientResource[] {
  const allocatable = node?.status?.allocatable;
  if (allocatable === undefined) return [];
  const maxPods = allocatable['pods'];
  const lacking = maxPods === undefined ? [] : lackingPlace(maxPods, others);
  const wanted = Object.entries(amountsByName(podRequests(pod).requests)).filter(([, requested]) => requested > 0);
  if (wanted.length === 0) return lacking;
  const inUse = emptyAmounts();
  for (const active of others.active()) addAmounts(inUse, podRequests(active).requests);
  const [taken, capacities] = [amountsByName(inUse), amountsByName(amountsOf(allocatable))];
  for (const [resource, requested] of wanted) {
    const [used, capacity] = [taken[resource] ?? 0, capacities[resource] ?? 0];
    // Extended resources that the node does not report are not checked. One without its plugin is reported as 0, and
    // a claim may provide it.
    const isOthers = allocatable[resource] === undefined || (capacity === 0 && isServedByClaim(pod, resource));
    if (isOthers && resource.includes('/')) continue;
    if (requested > capacity - used) lacking.push({ resource, requested, used, capacity });
  }
  return lacking;
}

function checkResources(input: AdmissionInput): AdmissionResult {
  const lacking = lackingResources(input);
  const [first] = lacking;
  if (first === undefined) return ADMIT;
  const { resource, requested, used, capacity } = first;
  const message = `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`;
  return { ...reject(`OutOf${resource}`, message), lacking };
}

function checkAffinity({ pod, node }: AdmissionInput): AdmissionResult {
  if (node === undefined || isStaticPod(pod) || nodeSelectorMatches(pod, node)) return ADMIT;
  return reject('NodeAffinity', "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector");
}

function checkPorts({ pod, others }: AdmissionInput): AdmissionResult {
  const wanted = hostPortsOf(pod);
  if (wanted.length === 0) return ADMIT;
  const taken = others.active().flatMap(hostPortsOf);
  if (!anyHostPortsCollide(wanted, taken)) return ADMIT;
  return reject('NodePorts', "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports");
}

/** Static pods ignore taints. Other pods must tolerate every NoExecute taint. */
function checkTaints({ pod, node }: AdmissionInput): AdmissionResult {
  if (node === undefined || isStaticPod(pod)) return ADMIT;
  const taint = findUntoleratedTaint(
    node.spec?.taints ?? [],
    pod.spec?.tolerations ?? [],
    ({ effect }) => effect === 'NoExecute',
  );
  if (taint === undefined) return ADMIT;
  return reject('TaintToleration', `Predicate TaintToleration failed: node(s) had untolerated taint(s)`);
}

/** Pods of other sources may not use the host's namespaces. Upstream: canRunPod with capabilities.PrivilegedSources. */
function checkHostNamespaces({ pod, hostNamespaceSources }: AdmissionInput): AdmissionResult {
  if (hostNamespaceSources === undefined) return ADMIT;
  const source = podSource(pod);
  const uses = { network: pod.spec?.hostNetwork, pid: pod.spec?.hostPID, ipc: pod.spec?.hostIPC };
  for (const [namespace, field] of [
    ['network', 'HostNetwork'],
    ['pid', 'HostPID'],
    ['ipc', 'HostIPC'],
  ] as const) {
    const allowed = hostNamespaceSources[namespace];
    if (uses[namespace] !== true || allowed.includes('*') || allowed.includes(source)) continue;
    return reject(
      'HostNamespaceForbidden',
      `pod with UID "${pod.metadata.uid}" specified ${field.charAt(0).toLowerCase()}${field.slice(1)}, but is disallowed: pods of source ${source} may not use it`,
    );
  }
  return ADMIT;
}

/** A pod that was bound without the scheduler may need features that this kubelet does not have. */
function checkFeatures({ pod, declaredFeatures }: AdmissionInput): AdmissionResult {
  const lacking = featuresToSchedule(pod).filter((feature) => declaredFeatures?.includes(feature) === false);
  if (lacking.length === 0) return ADMIT;
  return reject('PodFeatureUnsupported', `Pod requires node features that are not available: ${lacking.join(', ')}`);
}

/** The first reason against the pod, or none. A critical pod's resources are checked last: preemption can free them. */
export function canAdmitPod(input: AdmissionInput): AdmissionResult {
  const place = [checkAffinity, checkPorts, checkTaints];
  const general = isCriticalPod(input.pod) ? [...place, checkResources] : [checkResources, ...place];
  for (const check of [checkOs, checkSysctls, checkHostNamespaces, ...general, checkFeatures]) {
    const result = check(input);
    if (!result.admit) return result;
  }
  return ADMIT;
}
