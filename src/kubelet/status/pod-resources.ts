/**
 * The pod-level resources of a status: allocated and actual ones. Pure. Upstream: convertToAPIPodLevelResourcesStatus
 * in pkg/kubelet/kubelet_pods.go (InPlacePodLevelResourcesVerticalScaling).
 *
 * Differs: the actual resources are those written to the cgroups, since values read back are rounded.
 */
import { firstByName } from '../../base/first-by.ts';
import type { Pod, PodSpec, PodStatus } from '../../api/gen/core-v1.ts';
import { quantityFromMilliValue, quantityFromValue } from '../../api/quantity.ts';
import { podRequests, type ResourceAmounts } from '../../component-helpers/pod-resources.ts';
import {
  ownResources,
  resizableContainers,
  withContainerResources,
  withPodLevelResources,
  type ContainerResources,
} from '../allocation/resources.ts';
import { podLimits } from '../cgroups/pod-resource-config.ts';
import type { ContainerStatus, PodStatus as RuntimePodStatus } from '../container/runtime.ts';

export interface InForce {
  readonly runtimeStatus: RuntimePodStatus;
  readonly actuated: (status: ContainerStatus) => ContainerResources | undefined;
  /** The actual pod-level resources; undefined: as allocated. */
  readonly actuatedPod: ContainerResources | undefined;
}

type PodLevelStatus = Required<Pick<PodStatus, 'resources' | 'allocatedResources'>>;

/** A cache: pods whose resources were never changed share the result of their spec. */
const statusesBySpec = new WeakMap<PodSpec, PodLevelStatus>();

/** The fields of the status. `pod`: with its allocated resources. */
export function podResourcesStatus(pod: Pod, inForce: InForce): Partial<PodLevelStatus> {
  const allocated = podLevelStatusOf(pod);
  if (allocated === undefined) return {};
  const { resources } = podLevelStatusOf(podInForce(pod, inForce)) ?? allocated;
  const { allocatedResources } = allocated;
  return Object.keys(allocatedResources).length === 0 ? { resources } : { resources, allocatedResources };
}

function podInForce(pod: Pod, { runtimeStatus, actuated, actuatedPod }: InForce): Pod {
  const actual: Record<string, ContainerResources> = {};
  const statuses = firstByName(runtimeStatus.containers);
  for (const container of resizableContainers(pod)) {
    const status = statuses.get(container.name);
    const has = status?.state === 'running' ? actuated(status) : undefined;
    if (has !== undefined) actual[container.name] = ownResources(container, has);
  }
  const withContainers = withContainerResources(pod, actual);
  if (actuatedPod === undefined) return withContainers;
  const none = Object.keys(actuatedPod).length === 0;
  return withPodLevelResources(withContainers, none ? undefined : actuatedPod);
}

function podLevelStatusOf({ metadata, spec }: Pod): PodLevelStatus | undefined {
  if (spec === undefined) return undefined;
  let computed = statusesBySpec.get(spec);
  if (computed === undefined) {
    // From the spec alone: resources in a status matter only to clients of the API.
    const { requests } = podRequests({ metadata, spec });
    const { limits, cpuDeclared, memoryDeclared } = podLimits({ metadata, spec });
    const bounded = {
      milliCpu: cpuDeclared ? limits.milliCpu : 0,
      memoryBytes: memoryDeclared ? limits.memoryBytes : 0,
      ephemeralBytes: 0,
    };
    const [ownRequests, most] = [listOf(requests), listOf(bounded)];
    const resources = {
      ...(Object.keys(most).length === 0 ? {} : { limits: most }),
      ...(Object.keys(ownRequests).length === 0 ? {} : { requests: ownRequests }),
    };
    statusesBySpec.set(spec, (computed = { resources, allocatedResources: ownRequests }));
  }
  return computed;
}

function listOf({ milliCpu, memoryBytes, ephemeralBytes, scalars = {} }: Readonly<ResourceAmounts>) {
  return {
    ...(milliCpu === 0 ? {} : { cpu: quantityFromMilliValue(milliCpu) }),
    ...(memoryBytes === 0 ? {} : { memory: bytes(memoryBytes) }),
    ...(ephemeralBytes === 0 ? {} : { 'ephemeral-storage': bytes(ephemeralBytes) }),
    ...Object.fromEntries(
      Object.entries(scalars).map(([name, value]) => [
        name,
        name.startsWith('hugepages-') ? bytes(value) : quantityFromValue(value),
      ]),
    ),
  };
}

function bytes(value: number): string {
  return quantityFromValue(value, value % 1024 === 0 ? 'BinarySI' : 'DecimalSI');
}
