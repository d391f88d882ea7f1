/** Explains why a service has no endpoints, or no address. */
import { EndpointSlices, Pods, Services } from '../../api/gen/resources.ts';
import type { Pod, Service, ServicePort } from '../../api/gen/core-v1.ts';
import type { EndpointSlice } from '../../api/gen/discovery-v1.ts';
import { isPodActive } from '../../component-helpers/pods.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause, type Diagnosis, type ObjectName } from '../explanation.ts';
import { inNamespace, nameOfObject } from '../object-name.ts';
import { unreadyPodCauses } from '../workloads/owned-pods.ts';
import { appendAll } from '../../base/lists.ts';

/** The number of pods that are listed; the others usually ended the same way. */
const MAX_NAMED = 3;

export async function explainService(service: Service, evidence: Evidence): Promise<Diagnosis> {
  const { type = 'ClusterIP', externalName, selector } = service.spec ?? {};
  if (type === 'ExternalName') return { state: 'Fine', summary: `is another name for ${externalName}`, causes: [] };
  const slices = await slicesOf(service, evidence);
  if (slices === undefined) return { state: 'Unknown', summary: 'has endpoints that cannot be seen', causes: [] };
  const ready = slices
    .flatMap(({ endpoints }) => endpoints ?? [])
    .filter(({ conditions }) => conditions?.ready !== false);
  const summary = `has ${ready.length} ready ${ready.length === 1 ? 'endpoint' : 'endpoints'}`;
  const causes: Cause[] = [...balancerCauses(service)];
  if (selector === undefined || Object.keys(selector).length === 0) {
    if (ready.length === 0) causes.push(noSelectorCause(service));
  } else appendAll(causes, await podCauses(service, selector, ready.length, evidence));
  if (causes.length > 0) return { state: 'Trouble', summary, causes };
  return { state: ready.length > 0 ? 'Fine' : 'Unknown', summary, causes };
}

function slicesOf({ metadata }: Service, evidence: Evidence): Promise<readonly EndpointSlice[] | undefined> {
  const { namespace = '', name } = metadata;
  return evidence.listed(EndpointSlices, { namespace, labelSelector: `kubernetes.io/service-name=${name}` });
}

function noSelectorCause(service: Service): Cause {
  return cause({
    code: 'NoSelector',
    object: nameOfObject(Services, service),
    message: 'it has no selector, and nobody has made endpoint slices for it',
    cure: { text: 'give it a selector, or create an EndpointSlice labelled kubernetes.io/service-name' },
  });
}

async function podCauses(
  service: Service,
  selector: Readonly<Record<string, string>>,
  ready: number,
  evidence: Evidence,
): Promise<readonly Cause[]> {
  const { namespace = '' } = service.metadata;
  const labelSelector = Object.entries(selector)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
  const pods = await evidence.listed(Pods, { namespace, labelSelector });
  if (pods === undefined) return [];
  const object = nameOfObject(Services, service);
  if (pods.length === 0)
    return [
      cause({
        code: 'SelectorMatchesNoPods',
        object,
        message: `no pod has the labels ${labelSelector}`,
        cure: {
          text: 'make the labels of the pods and the selector of the service agree',
          command: `kubectl get pods --show-labels${inNamespace(object)}`,
        },
      }),
    ];
  const ports = missingPorts(service, pods);
  if (ready > 0) return ports;
  const causes = await unreadyPodCauses(pods, evidence);
  if (!pods.some(isPodActive)) return [endedCause(object, pods), ...ports];
  if (causes.length === 0) return ports;
  return [
    cause({
      code: 'NoReadyPods',
      object,
      message: `none of the ${pods.length} pods it selects is ready`,
      because: causes,
    }),
    ...ports,
  ];
}

/** All its pods have ended or are terminating, so none receives requests. */
function endedCause(object: ObjectName, pods: readonly Pod[]): Cause {
  return cause({
    code: 'NoReadyPods',
    object,
    message:
      pods.length === 1
        ? 'the pod it selects has ended, or is being deleted'
        : `all ${pods.length} pods it selects have ended, or are being deleted`,
    facts: pods.slice(0, MAX_NAMED).map((pod) => `pod ${pod.metadata.name}: ${phaseText(pod)}`),
    cure: {
      text: 'start pods with its labels, by a deployment for one: a job, or a pod of its own, is not started again',
      command: `kubectl get pods --show-labels${inNamespace(object)}`,
    },
  });
}

function phaseText({ metadata, status }: Pod): string {
  return metadata.deletionTimestamp === undefined ? (status?.phase ?? 'Pending') : 'is being deleted';
}

/** Named target ports that none of the pods has. */
function missingPorts(service: Service, pods: readonly Pod[]): readonly Cause[] {
  const names = new Set(
    pods
      .flatMap(({ spec }) => [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])])
      .flatMap(({ ports = [] }) => ports.map(({ name }) => name)),
  );
  const portNames = [...names].filter((name) => name !== undefined);
  const object = nameOfObject(Services, service);
  const isMissing = ({ targetPort }: ServicePort): boolean => typeof targetPort === 'string' && !names.has(targetPort);
  return (service.spec?.ports ?? []).filter(isMissing).map((port) =>
    cause({
      code: 'TargetPortMissing',
      object,
      message: `its port ${port.port} leads to a port named ${port.targetPort}, which no container of its pods has`,
      facts: [
        portNames.length === 0 ? 'its pods name no ports' : `ports its pods name: ${portNames.slice(0, 20).join(', ')}`,
      ],
      cure: {
        text: `name a container port ${port.targetPort}, or write its number as targetPort`,
        command: `kubectl edit service ${object.name}${inNamespace(object)}`,
      },
    }),
  );
}

function balancerCauses(service: Service): readonly Cause[] {
  if (service.spec?.type !== 'LoadBalancer') return [];
  if ((service.status?.loadBalancer?.ingress ?? []).length > 0) return [];
  const name = service.spec.loadBalancerClass;
  return [
    cause({
      code: 'LoadBalancerPending',
      object: nameOfObject(Services, service),
      message: `no load balancer${name === undefined ? '' : ` of class ${name}`} has given it an address`,
      cure: { text: 'run a load balancer controller (MetalLB, that of a cloud), or use type NodePort' },
    }),
  ];
}
