/** The statuses of workloads and disruption budgets count the pods that exist. */
import { isJobFinished } from '../../component-helpers/jobs.ts';
import type { Deployment } from '../../api/gen/apps-v1.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import {
  CronJobs,
  DaemonSets,
  Deployments,
  Jobs,
  Nodes,
  PodDisruptionBudgets,
  Pods,
  ReplicaSets,
  StatefulSets,
} from '../../api/gen/resources.ts';
import { compileLabelSelector } from '../../api/label-selector.ts';
import { shouldRunOnNode } from '../../component-helpers/daemon-pods.ts';
import { isControlledBy } from '../../component-helpers/owner-references.ts';
import { isPodActive, isPodReady, isPodTerminal, isPodTerminating } from '../../component-helpers/pods.ts';
import { TRACKING_FINALIZER } from '../../controllers/job/view.ts';
import type { Cluster } from '../cluster.ts';
import { compare, nameOf, observed, podsOf, ready } from './comparisons.ts';

export function replicaSets(cluster: Cluster): string[] {
  return cluster.peek(ReplicaSets).flatMap((set) => {
    const active = podsOf(cluster, set).filter(isPodActive);
    const { replicas, readyReplicas } = set.status ?? {};
    return [
      ...observed(set),
      ...compare(set, { replicas: [replicas, active.length], readyReplicas: [readyReplicas, ready(active)] }),
    ];
  });
}

export function deployments(cluster: Cluster): string[] {
  const sum = (deployment: Deployment, field: 'replicas' | 'readyReplicas' | 'availableReplicas'): number =>
    cluster
      .peek(ReplicaSets)
      .filter((set) => isControlledBy(set, deployment))
      .reduce((total, { status }) => total + (status?.[field] ?? 0), 0);
  return cluster
    .peek(Deployments)
    .flatMap((deployment) => [
      ...observed(deployment),
      ...(['replicas', 'readyReplicas', 'availableReplicas'] as const).flatMap((field) =>
        compare(deployment, { [field]: [deployment.status?.[field], sum(deployment, field)] }),
      ),
    ]);
}

export function statefulSets(cluster: Cluster): string[] {
  return cluster.peek(StatefulSets).flatMap((set) => {
    const pods = podsOf(cluster, set);
    if (pods.some(isPodTerminating)) return observed(set);
    const { replicas, readyReplicas } = set.status ?? {};
    return [
      ...observed(set),
      ...compare(set, { replicas: [replicas, pods.length], readyReplicas: [readyReplicas, ready(pods)] }),
    ];
  });
}

export function daemonSets(cluster: Cluster): string[] {
  const nodes = new Map(cluster.peek(Nodes).map((node) => [node.metadata.name, node]));
  return cluster.peek(DaemonSets).flatMap((set) => {
    // Pods that are only tolerated on nodes which accept no new ones are not counted.
    const isWanted = ({ spec }: Pod): boolean => {
      const node = nodes.get(spec?.nodeName);
      return node !== undefined && shouldRunOnNode(set.spec?.template.spec, node).run;
    };
    const active = podsOf(cluster, set).filter((pod) => isPodActive(pod) && isWanted(pod));
    return [...observed(set), ...compare(set, { numberReady: [set.status?.numberReady, ready(active)] })];
  });
}

export function jobs(cluster: Cluster): string[] {
  return cluster.peek(Jobs).flatMap((job) => {
    const { active, uncountedTerminatedPods } = job.status ?? {};
    const { succeeded = [], failed = [] } = uncountedTerminatedPods ?? {};
    const pods = podsOf(cluster, job);
    return [
      ...compare(job, {
        active: [active, pods.filter(isPodActive).length],
        uncountedTerminatedPods: [succeeded.length + failed.length, 0],
      }),
      ...pods
        .filter((pod) => isPodTerminal(pod) && pod.metadata.finalizers?.includes(TRACKING_FINALIZER) === true)
        .map((pod) => `${nameOf(pod)} has ended and is not counted`),
    ];
  });
}

/** A running job that is not listed is no disagreement: a user may have created it. */
export function cronJobs(cluster: Cluster): string[] {
  const running = new Set(
    cluster
      .peek(Jobs)
      .filter((job) => !isJobFinished(job))
      .map(({ metadata }) => metadata.uid),
  );
  return cluster
    .peek(CronJobs)
    .flatMap((cron) =>
      (cron.status?.active ?? [])
        .filter(({ uid }) => !running.has(uid))
        .map(({ name }) => `${nameOf(cron)}: ${name} is active, and there is no such job that runs`),
    );
}

export function budgets(cluster: Cluster): string[] {
  return cluster.peek(PodDisruptionBudgets).flatMap((budget) => {
    // When the expected pods cannot be counted, the last figures stay.
    if (budget.status?.conditions?.some(({ reason }) => reason === 'SyncFailed') === true) return [];
    const matcher = compileLabelSelector(budget.spec?.selector);
    const healthy = cluster
      .peek(Pods)
      .filter(
        (pod) =>
          pod.metadata.namespace === budget.metadata.namespace &&
          matcher.matches(pod.metadata.labels) &&
          isPodActive(pod) &&
          isPodReady(pod),
      );
    return [
      ...observed(budget),
      ...compare(budget, { currentHealthy: [budget.status?.currentHealthy, healthy.length] }),
    ];
  });
}
