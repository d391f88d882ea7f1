/**
 * How many exclusive CPUs containers and pods request. Pure. Upstream: guaranteedCPUs and podGuaranteedCPUs in
 * pkg/kubelet/cm/cpumanager/policy_static.go.
 */
import { isRestartableInitContainer } from '../../api/pod-containers.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { podQosClass } from '../../api/pod-qos.ts';
import { quantityMilliValue } from '../../api/quantity.ts';

/** The number of exclusive CPUs of the container; 0: it uses the shared ones. */
export function exclusiveCount(pod: Pod, container: Container): number {
  if (podQosClass(pod) !== 'Guaranteed' || pod.spec?.resources !== undefined) return 0;
  const milli = quantityMilliValue(
    container.resources?.requests?.['cpu'] ?? container.resources?.limits?.['cpu'] ?? '0',
  );
  return milli % 1000 === 0 ? milli / 1000 : 0;
}

export function podCount(pod: Pod): number {
  let [sidecars, init] = [0, 0];
  for (const container of pod.spec?.initContainers ?? []) {
    const count = exclusiveCount(pod, container);
    if (isRestartableInitContainer(container)) sidecars += count;
    else init = Math.max(init, sidecars + count);
  }
  const sum = (pod.spec?.containers ?? []).reduce((total, each) => total + exclusiveCount(pod, each), sidecars);
  return Math.max(init, sum);
}
