/**
 * PodResizeValidator: refuses to resize a pod beyond its node's allocatable resources, or where the kubelet cannot
 * resize. Upstream: plugin/pkg/admission/podresize.
 */
import type { Node, Pod } from '../../../api/gen/core-v1.ts';
import { Nodes } from '../../../api/gen/resources.ts';
import { quantityMilliValue, quantityValue } from '../../../api/quantity.ts';
import { StatusError } from '../../../api/status-error.ts';
import { deepEqual } from '../../../base/equal.ts';
import { podRequests } from '../../../component-helpers/pod-resources.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../contract.ts';
import { isOn, refusal } from '../refusal.ts';

export function createPodResizeValidator(objects: () => ObjectStore): AdmissionPlugin {
  return {
    name: 'PodResizeValidator',
    handles: (operation, resource, subresource) =>
      operation === 'UPDATE' && isOn(resource, subresource, { resource: 'pods', subresource: 'resize' }),
    validate(attributes) {
      const pod = attributes.object as Pod;
      const nodeName = pod.spec?.nodeName ?? '';
      if (nodeName === '' || deepEqual(pod.spec, (attributes.oldObject as Pod).spec)) return;
      const node = objects().get(Nodes, '', nodeName);
      if (node === undefined) throw refusal(attributes, `node ${JSON.stringify(nodeName)} not found`);
      const lacking = lackingOn(node, pod);
      if (lacking.length > 0)
        throw resizeForbidden(
          attributes,
          'NodeCapacity',
          `Node didn't have enough allocatable resources: ${lacking.join('; ')}`,
        );
      const os = node.metadata.labels?.['kubernetes.io/os'] ?? '';
      if (os !== 'linux')
        throw resizeForbidden(
          attributes,
          'UnsupportedPlatform',
          `pod resize is only supported on linux nodes, node ${JSON.stringify(nodeName)} is ${JSON.stringify(os)}`,
        );
    },
  };
}

/** The pod's requests now, not its allocated resources. */
function lackingOn({ status }: Node, { spec }: Pod): string[] {
  const { milliCpu, memoryBytes } = podRequests({ metadata: {}, spec: spec! }).requests;
  const amounts = [
    ['cpu', milliCpu, quantityMilliValue(status?.allocatable?.['cpu'] ?? '0')],
    ['memory', memoryBytes, quantityValue(status?.allocatable?.['memory'] ?? '0')],
  ] as const;
  return amounts
    .filter(([, requested, allocatable]) => requested > allocatable)
    .map(([name, requested, allocatable]) => `${name}, requested: ${requested}, allocatable: ${allocatable}`);
}

/** The cause tells clients why the resize was refused. */
function resizeForbidden(attributes: AdmissionAttributes, reason: string, why: string): StatusError {
  const { status } = refusal(attributes, why);
  return new StatusError({ ...status, details: { ...status.details, causes: [{ reason }] } });
}
