/** Small facts computed from a pod's spec alone. Upstream: pkg/kubelet/util/format, apis/core/v1/helper/qos, kuberuntime/util. */
import type { Container, EphemeralContainer, Pod, ResourceRequirements } from '../../api/gen/core-v1.ts';
import { quantityMilliValue } from '../../api/quantity.ts';

/** `name_namespace(uid)`, as upstream writes pods in messages. */
export function podFullText(pod: Pod): string {
  const { name, namespace, uid } = pod.metadata;
  return `${name}_${namespace}(${uid})`;
}

/** Whether an init container is a sidecar, restarted for as long as the pod lives. */
export function isRestartable(container: Container): boolean {
  return container.restartPolicy === 'Always';
}

/** An ephemeral container with the fields every container has. */
export function asContainer(container: EphemeralContainer): Container {
  return container as Container;
}

/** All containers in start order: init, normal, ephemeral. */
export function allContainers(pod: Pod): readonly Container[] {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = pod.spec ?? {};
  return [...initContainers, ...containers, ...ephemeralContainers.map(asContainer)];
}

/** The spec of a container by name, of any kind. */
export function findContainer(pod: Pod, name: string): Container | undefined {
  return allContainers(pod).find((container) => container.name === name);
}

/** `spec.containers{web}`, the event's field path of a container. */
export function containerFieldPath(pod: Pod, name: string): string {
  const spec = pod.spec;
  if (spec?.initContainers?.some((container) => container.name === name)) return `spec.initContainers{${name}}`;
  if (spec?.ephemeralContainers?.some((container) => container.name === name)) return `spec.ephemeralContainers{${name}}`;
  return `spec.containers{${name}}`;
}

/** Static pods whose object exists only on this node are marked so by their source. */
export function isStaticPod(pod: Pod): boolean {
  const source = pod.metadata.annotations?.['kubernetes.io/config.source'];
  return source !== undefined && source !== 'api';
}

export type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

/** The pod's class of service, as the API server computed it, or anew for pods it has not seen (static pods). */
export function qosClass(pod: Pod): QosClass {
  const known = pod.status?.qosClass;
  if (known === 'Guaranteed' || known === 'Burstable' || known === 'BestEffort') return known;
  if (pod.spec?.resources !== undefined) return classOf([pod.spec.resources]);
  const { initContainers = [], containers = [] } = pod.spec ?? {};
  return classOf([...initContainers, ...containers].map((container) => container.resources ?? {}));
}

function classOf(resources: readonly ResourceRequirements[]): QosClass {
  const computed = ['cpu', 'memory'] as const;
  const set = (list: Readonly<Record<string, string>> | undefined, name: string): number => quantityMilliValue(list?.[name] ?? '0');
  const any = resources.some((r) => computed.some((name) => set(r.requests, name) > 0 || set(r.limits, name) > 0));
  if (!any) return 'BestEffort';
  const guaranteed = resources.every((r) => computed.every((name) => {
    const limit = set(r.limits, name);
    return limit > 0 && (r.requests?.[name] === undefined || set(r.requests, name) === limit);
  }));
  return guaranteed ? 'Guaranteed' : 'Burstable';
}

/** Priority above which a pod counts as critical to the system. */
const systemCriticalPriority = 2_000_000_000;

/** Static pods and pods of system priority. Upstream: types.IsCriticalPod. */
export function isCriticalPod(pod: Pod): boolean {
  return isStaticPod(pod) || (pod.spec?.priority ?? 0) >= systemCriticalPriority;
}
