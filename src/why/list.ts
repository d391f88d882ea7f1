/** The explainers of kinds: the one literal list. Objects of other kinds are explained by finalizers and conditions. */
import {
  allResources,
  APIServices,
  CertificateSigningRequests,
  CronJobs,
  CustomResourceDefinitions,
  DaemonSets,
  Deployments,
  EndpointSlices,
  HorizontalPodAutoscalers,
  Ingresses,
  Jobs,
  MutatingWebhookConfigurations,
  Namespaces,
  Nodes,
  PersistentVolumeClaims,
  PersistentVolumes,
  PodDisruptionBudgets,
  Pods,
  ReplicaSets,
  ReplicationControllers,
  Services,
  StatefulSets,
  ValidatingWebhookConfigurations,
} from '../api/gen/resources.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import { explainApiService } from './cluster/api-service.ts';
import { explainDefinition } from './cluster/definition.ts';
import { explainNamespace } from './cluster/namespace.ts';
import { explainNode } from './cluster/node.ts';
import { explainSigningRequest } from './cluster/signing-request.ts';
import { explainMutatingWebhooks, explainValidatingWebhooks } from './cluster/webhooks.ts';
import type { Evidence } from './evidence.ts';
import type { Diagnosis } from './explanation.ts';
import { explainEndpointSlice } from './network/endpoint-slice.ts';
import {
  BackendTlsPolicies,
  explainBackendTlsPolicy,
  explainGateway,
  explainRoute,
  Gateways,
  GrpcRoutes,
  HttpRoutes,
  TlsRoutes,
} from './network/gateway-api.ts';
import { explainIngress } from './network/ingress.ts';
import { explainService } from './network/service.ts';
import { explainPod } from './pods/pod.ts';
import { explainClaim } from './storage/claim.ts';
import { explainVolume } from './storage/volume.ts';
import { explainAutoscaler } from './workloads/autoscaler.ts';
import { explainBudget } from './workloads/budget.ts';
import { explainCronJob } from './workloads/cron-job.ts';
import { explainDaemonSet } from './workloads/daemon-set.ts';
import { explainDeployment } from './workloads/deployment.ts';
import { explainJob } from './workloads/job.ts';
import { explainReplicaSet, explainReplicationController } from './workloads/replica-set.ts';
import { explainStatefulSet } from './workloads/stateful-set.ts';

/** Explains objects of one kind. */
export type Explainer<T = KubernetesObject> = (object: T, evidence: Evidence) => Promise<Diagnosis>;

interface Row {
  readonly info: ResourceInfo;
  readonly explain: Explainer;
}

function row<T>(info: ResourceInfo<T>, explain: Explainer<T>): Row {
  return { info, explain: explain as Explainer<never> as Explainer };
}

/** By group and kind: all versions of a kind have the same explainer. */
const explainers: readonly Row[] = [
  row(Pods, explainPod),
  row(ReplicaSets, explainReplicaSet),
  row(ReplicationControllers, explainReplicationController),
  row(Deployments, explainDeployment),
  row(StatefulSets, explainStatefulSet),
  row(DaemonSets, explainDaemonSet),
  row(Jobs, explainJob),
  row(CronJobs, explainCronJob),
  row(HorizontalPodAutoscalers, explainAutoscaler),
  row(PodDisruptionBudgets, explainBudget),
  row(Services, explainService),
  row(EndpointSlices, explainEndpointSlice),
  row(Gateways, explainGateway),
  row(HttpRoutes, explainRoute(HttpRoutes)),
  row(GrpcRoutes, explainRoute(GrpcRoutes)),
  row(TlsRoutes, explainRoute(TlsRoutes)),
  row(BackendTlsPolicies, explainBackendTlsPolicy),
  row(Ingresses, explainIngress),
  row(PersistentVolumeClaims, explainClaim),
  row(PersistentVolumes, explainVolume),
  row(Nodes, explainNode),
  row(Namespaces, explainNamespace),
  row(CustomResourceDefinitions, explainDefinition),
  row(APIServices, explainApiService),
  row(MutatingWebhookConfigurations, explainMutatingWebhooks),
  row(ValidatingWebhookConfigurations, explainValidatingWebhooks),
  row(CertificateSigningRequests, explainSigningRequest),
];

/** The explainer of a kind; undefined when the kind has none. */
export function explainerOf(info: ResourceInfo): Explainer | undefined {
  return rowOf(info)?.explain;
}

/** The version of a built-in kind that its explainer reads; other kinds keep their version. */
export function explainedVersion(info: ResourceInfo<KubernetesObject>): ResourceInfo<KubernetesObject> {
  const known = rowOf(info)?.info;
  const builtIn = allResources.find((one) => one === known) as ResourceInfo<KubernetesObject> | undefined;
  return builtIn ?? info;
}

function rowOf({ group, kind }: ResourceInfo): Row | undefined {
  return explainers.find(({ info }) => info.group === group && info.kind === kind);
}
