/**
 * What must agree once a cluster is at rest: what statuses count is there, endpoints are the ready pods, what an owner left
 * behind is gone, and the machines run what the API server says they run. Where no part does the work (it was ended and
 * not started again, or is cut off, or was never there) nothing is asked.
 */
import type { Deployment } from '../api/gen/apps-v1.ts';
import type { Node, Pod } from '../api/gen/core-v1.ts';
import {
  allResources,
  CronJobs,
  DaemonSets,
  Deployments,
  EndpointSlices,
  Jobs,
  Namespaces,
  Nodes,
  PersistentVolumeClaims,
  PersistentVolumes,
  PodDisruptionBudgets,
  Pods,
  ReplicaSets,
  ResourceClaims,
  Services,
  StatefulSets,
} from '../api/gen/resources.ts';
import { compileLabelMap, compileLabelSelector } from '../api/label-selector.ts';
import type { OwnerReference } from '../api/gen/meta-v1.ts';
import type { ResourceClaim } from '../api/gen/resource-v1.ts';
import type { KubernetesObject } from '../api/object.ts';
import { apiVersionOf, type ResourceInfo } from '../api/resource-info.ts';
import { parseTime } from '../api/time.ts';
import { shouldRunOnNode } from '../component-helpers/daemon-pods.ts';
import { nodeCondition } from '../component-helpers/nodes.ts';
import { isControlledBy } from '../component-helpers/owner-references.ts';
import { isPodActive, isPodReady, isPodTerminal, isPodTerminating } from '../component-helpers/pods.ts';
import { isFinished } from '../controllers/job/verdict.ts';
import { TRACKING_FINALIZER } from '../controllers/job/view.ts';
import { hasManagedEndpoints } from '../controllers/service-endpoints.ts';
import type { Cluster } from './cluster.ts';

type Check = (cluster: Cluster) => string[];

/**
 * Every disagreement, in words; none when all is well.
 * @param works whether a controller does its work; what depends on one that does not is left out
 */
export function disagreements(
  cluster: Cluster,
  works: (controller: string) => boolean = (controller) => cluster.faults.works(controller),
): string[] {
  return CHECKS.flatMap(([controller, check]) => (controller === 'kubelet' || works(controller) ? check(cluster) : []));
}

/** Each with the controller that sees to it; kubelets are looked at one by one. */
const CHECKS: readonly (readonly [controller: string, Check])[] = [
  ['replicaset-controller', replicaSets],
  ['deployment-controller', deployments],
  ['statefulset-controller', statefulSets],
  ['daemonset-controller', daemonSets],
  ['job-controller', jobs],
  ['cronjob-controller', cronJobs],
  ['disruption-controller', budgets],
  ['endpointslice-controller', endpoints],
  ['persistentvolume-binder-controller', claims],
  ['pod-garbage-collector-controller', podsOfNoNode],
  ['kubelet', podsOverdue],
  ['kubelet', addresses],
  ['kubelet', machines],
  ['kubelet', devices],
  ['node-lifecycle-controller', taints],
  ['namespace-controller', outlivedNamespaces],
  ['garbage-collector-controller', outlivedOwners],
];

function nameOf({ kind, metadata }: KubernetesObject): string {
  return `${kind} ${metadata.namespace === undefined ? '' : `${metadata.namespace}/`}${metadata.name}`;
}

/** Compares what a status says with what is there. */
function compare(object: KubernetesObject, counts: Readonly<Record<string, readonly [said: unknown, is: number]>>) {
  return Object.entries(counts).flatMap(([field, [said, is]]) =>
    (said ?? 0) === is ? [] : [`${nameOf(object)}: ${field} is ${String(said)}, there are ${is}`],
  );
}

function observed(object: KubernetesObject): string[] {
  const { observedGeneration } = (object as { status?: { observedGeneration?: number } }).status ?? {};
  const { generation } = object.metadata;
  return observedGeneration === generation ? [] : [`${nameOf(object)}: generation ${generation} is not observed`];
}

function podsOf(cluster: Cluster, owner: KubernetesObject): Pod[] {
  return cluster.peek(Pods).filter((pod) => isControlledBy(pod, owner));
}

function replicaSets(cluster: Cluster): string[] {
  return cluster.peek(ReplicaSets).flatMap((set) => {
    const active = podsOf(cluster, set).filter(isPodActive);
    const { replicas, readyReplicas } = set.status ?? {};
    return [
      ...observed(set),
      ...compare(set, { replicas: [replicas, active.length], readyReplicas: [readyReplicas, ready(active)] }),
    ];
  });
}

function ready(pods: readonly Pod[]): number {
  return pods.filter(isPodReady).length;
}

function deployments(cluster: Cluster): string[] {
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

function statefulSets(cluster: Cluster): string[] {
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

function daemonSets(cluster: Cluster): string[] {
  const nodes = new Map(cluster.peek(Nodes).map((node) => [node.metadata.name, node]));
  return cluster.peek(DaemonSets).flatMap((set) => {
    // Pods that may only stay where they are, on nodes that want no new ones, are not counted.
    const isWanted = ({ spec }: Pod): boolean => {
      const node = nodes.get(spec?.nodeName);
      return node !== undefined && shouldRunOnNode(set.spec?.template.spec, node).run;
    };
    const active = podsOf(cluster, set).filter((pod) => isPodActive(pod) && isWanted(pod));
    return [...observed(set), ...compare(set, { numberReady: [set.status?.numberReady, ready(active)] })];
  });
}

function jobs(cluster: Cluster): string[] {
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

/** Jobs that run and are not listed are no disagreement: somebody may have made them by hand. */
function cronJobs(cluster: Cluster): string[] {
  const running = new Set(
    cluster
      .peek(Jobs)
      .filter((job) => !isFinished(job))
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

function budgets(cluster: Cluster): string[] {
  return cluster.peek(PodDisruptionBudgets).flatMap((budget) => {
    // Where the expected pods cannot be counted, the last figures stay.
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

function endpoints(cluster: Cluster): string[] {
  return cluster.peek(Services).flatMap((service) => {
    const { selector, publishNotReadyAddresses } = service.spec ?? {};
    if (!hasManagedEndpoints(service) || publishNotReadyAddresses === true) return [];
    const { namespace, name } = service.metadata;
    const matcher = compileLabelMap(selector ?? {});
    const wanted = cluster
      .peek(Pods)
      .filter(
        (pod) =>
          pod.metadata.namespace === namespace &&
          matcher.matches(pod.metadata.labels) &&
          isPodActive(pod) &&
          isPodReady(pod),
      )
      .map(({ status }) => status?.podIP);
    const given = cluster
      .peek(EndpointSlices)
      .filter(
        ({ metadata }) => metadata.namespace === namespace && metadata.labels?.['kubernetes.io/service-name'] === name,
      )
      .flatMap((slice) => slice.endpoints ?? [])
      .filter(({ conditions }) => conditions?.ready !== false)
      .flatMap(({ addresses: endpointAddresses }) => endpointAddresses);
    const [is, should] = [given.toSorted().join(), wanted.toSorted().join()];
    return is === should ? [] : [`${nameOf(service)} has the endpoints ${is || 'none'}, ready are ${should || 'none'}`];
  });
}

function claims(cluster: Cluster): string[] {
  const volumes = cluster.peek(PersistentVolumes);
  const held = cluster.peek(PersistentVolumeClaims).flatMap((claim) => {
    const mine = volumes.filter(({ spec }) => spec?.claimRef?.uid === claim.metadata.uid);
    const bound = claim.status?.phase === 'Bound' ? 1 : 0;
    return mine.length === bound
      ? []
      : [`${nameOf(claim)} is ${claim.status?.phase}, and ${mine.length} volumes are its`];
  });
  const uids = new Set(cluster.peek(PersistentVolumeClaims).map(({ metadata }) => metadata.uid));
  const left = volumes.filter(({ spec, status }) => status?.phase === 'Bound' && !uids.has(spec?.claimRef?.uid ?? ''));
  return [...held, ...left.map((volume) => `${nameOf(volume)} is Bound to a claim that is not there`)];
}

/** Pods on nodes there are none of; one that a finalizer holds stays for that. */
function podsOfNoNode(cluster: Cluster): string[] {
  const nodes = new Set(cluster.peek(Nodes).map(({ metadata }) => metadata.name));
  return cluster.peek(Pods).flatMap((pod) => {
    const { nodeName } = pod.spec ?? {};
    const isHeld = pod.metadata.deletionTimestamp !== undefined && (pod.metadata.finalizers ?? []).length > 0;
    if (nodeName === undefined || nodes.has(nodeName) || isHeld) return [];
    return [`${nameOf(pod)} is on ${nodeName}, which is no more`];
  });
}

/** Pods in reach that should have ended long ago. */
function podsOverdue(cluster: Cluster): string[] {
  return cluster.peek(Pods).flatMap((pod) => {
    const { deletionTimestamp, finalizers = [] } = pod.metadata;
    const overdue = deletionTimestamp !== undefined && parseTime(deletionTimestamp) < cluster.nowMs - 60_000;
    if (!overdue || finalizers.length > 0 || !isInReach(cluster, pod.spec?.nodeName)) return [];
    return [`${nameOf(pod)} should have gone at ${deletionTimestamp}`];
  });
}

/** Whether the node's kubelet runs and can call the API server. */
export function isInReach(cluster: Cluster, nodeName: string | undefined): boolean {
  if (nodeName === undefined) return true;
  if (!cluster.nodes.has(nodeName)) return false;
  const machine = cluster.nodes.machine(nodeName);
  return machine.gate?.closed === false && !machine.partitioned;
}

/** No address twice among pods that run. */
function addresses(cluster: Cluster): string[] {
  const seen = new Map<string, string>();
  return cluster.peek(Pods).flatMap((pod) => {
    const { podIP } = pod.status ?? {};
    if (podIP === undefined || pod.spec?.hostNetwork === true || isPodTerminal(pod)) return [];
    const other = seen.get(podIP);
    seen.set(podIP, nameOf(pod));
    return other === undefined ? [] : [`${other} and ${nameOf(pod)} both have the address ${podIP}`];
  });
}

/** Machines in reach run what statuses say. */
function machines(cluster: Cluster): string[] {
  return cluster.peek(Pods).flatMap((pod) => {
    const { nodeName } = pod.spec ?? {};
    if (nodeName === undefined || !isInReach(cluster, nodeName) || pod.metadata.deletionTimestamp !== undefined)
      return [];
    const { containers } = cluster.nodes.runtime(nodeName);
    const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
    return statuses
      .filter(({ state }) => state?.running !== undefined)
      .filter(
        ({ containerID }) => containers.get(containerID?.replace(/^.*:\/\//, '') ?? '')?.state !== 'CONTAINER_RUNNING',
      )
      .map(({ name }) => `${nameOf(pod)} says that ${name} runs, and it does not`);
  });
}

/** Devices are in one claim each, ready for the pods that have them, and for nobody else. */
function devices(cluster: Cluster): string[] {
  return [...allocatedTwice(cluster), ...devicesReady(cluster)];
}

/** Administrators look at devices that others have, and shares of one are allocated by its capacity: both may be many. */
function allocatedTwice(cluster: Cluster): string[] {
  const seen = new Map<string, string>();
  return cluster.peek(ResourceClaims).flatMap((claim) =>
    (claim.status?.allocation?.devices?.results ?? [])
      .filter(({ adminAccess, shareID }) => adminAccess !== true && shareID === undefined)
      .flatMap(({ driver, pool, device }) => {
        const key = `${driver}/${pool}/${device}`;
        const other = seen.get(key);
        seen.set(key, nameOf(claim));
        return other === undefined ? [] : [`${other} and ${nameOf(claim)} both have the device ${key}`];
      }),
  );
}

function devicesReady(cluster: Cluster): string[] {
  const equipped = cluster.nodes
    .names()
    .map((node) => cluster.nodes.machine(node))
    .filter(({ name, drivers }) => drivers.sockets.length > 0 && isInReach(cluster, name));
  if (equipped.length === 0) return [];
  const had = Map.groupBy(cluster.peek(ResourceClaims).flatMap(devicesHad), ({ podUid }) => podUid);
  const running = cluster.peek(Pods).filter((pod) => !isPodTerminal(pod));
  const podsByNode = Map.groupBy(running, ({ spec }) => spec?.nodeName);
  return equipped.flatMap(({ name, drivers: { ready: readyDrivers } }) => {
    const pods = (podsByNode.get(name) ?? []).map((pod) => {
      return { pod, keys: (had.get(pod.metadata.uid!) ?? []).map(({ key }) => key) };
    });
    const owned = new Set(pods.flatMap(({ keys }) => keys));
    const stray = [...readyDrivers].filter((key) => !owned.has(key));
    return [
      ...stray.map((key) => `${name} keeps the devices of driver/claim ${key} ready, which no pod there has`),
      ...pods
        .filter(({ pod }) => isPodReady(pod))
        .flatMap(({ pod, keys }) =>
          keys
            .filter((key) => !readyDrivers.has(key))
            .map((key) => `${nameOf(pod)} runs without the devices of driver/claim ${key}`),
        ),
    ];
  });
}

/** Who has the claim, with each driver of its devices: `driver/uid`. */
function devicesHad({ metadata, status }: ResourceClaim): { podUid: string; key: string }[] {
  const drivers = new Set(status?.allocation?.devices?.results?.map(({ driver }) => driver));
  const keys = [...drivers].map((driver) => `${driver}/${metadata.uid}`);
  return (status?.reservedFor ?? []).flatMap(({ uid }) => keys.map((key) => ({ podUid: uid, key })));
}

const TAINTS = { Unknown: 'node.kubernetes.io/unreachable', False: 'node.kubernetes.io/not-ready' } as const;

function taints(cluster: Cluster): string[] {
  return cluster.peek(Nodes).flatMap((node: Node) => {
    const holds = nodeCondition(node, 'Ready')?.status ?? 'Unknown';
    const wanted = TAINTS[holds as keyof typeof TAINTS] as string | undefined;
    const has = (node.spec?.taints ?? []).filter(({ key }) => Object.values<string>(TAINTS).includes(key));
    const keys = [...new Set(has.map(({ key }) => key))];
    return keys.length === (wanted === undefined ? 0 : 1) && (wanted === undefined || keys[0] === wanted)
      ? []
      : [`${nameOf(node)} is Ready=${holds} and has the taints ${keys.join() || 'none'}`];
  });
}

function everything(cluster: Cluster): KubernetesObject[] {
  const infos = [...new Map(allResources.map((info) => [`${info.resource}.${info.group}`, info])).values()];
  return infos.flatMap((info) => cluster.peek(info as ResourceInfo<KubernetesObject>));
}

function outlivedNamespaces(cluster: Cluster): string[] {
  const namespaces = new Set(cluster.peek(Namespaces).map(({ metadata }) => metadata.name));
  return everything(cluster)
    .filter(({ metadata: { namespace } }) => namespace !== undefined && !namespaces.has(namespace))
    .map((object) => `${nameOf(object)} has outlived its namespace`);
}

function outlivedOwners(cluster: Cluster): string[] {
  const builtIn = new Set(allResources.map((info) => `${apiVersionOf(info)}/${info.kind}`));
  const all = everything(cluster);
  const uids = new Set(all.map(({ metadata }) => metadata.uid));
  const isGone = ({ apiVersion, kind, uid }: OwnerReference): boolean =>
    builtIn.has(`${apiVersion}/${kind}`) && !uids.has(uid);
  return all
    .filter(({ metadata: { ownerReferences = [], deletionTimestamp } }) => {
      return ownerReferences.length > 0 && deletionTimestamp === undefined && ownerReferences.every(isGone);
    })
    .map((object) => `${nameOf(object)} has outlived its owners`);
}
