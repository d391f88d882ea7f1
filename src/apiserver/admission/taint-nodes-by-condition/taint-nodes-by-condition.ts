/** TaintNodesByCondition: a new node starts with the not-ready taint until the node lifecycle controller has seen it. Upstream: plugin/pkg/admission/nodetaint. */
import type { Node } from '../../../api/gen/core-v1.ts';
import type { AdmissionPlugin } from '../contract.ts';

const NOT_READY = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };

export function createTaintNodesByCondition(): AdmissionPlugin {
  return {
    name: 'TaintNodesByCondition',
    handles: (operation, resource, subresource) =>
      operation === 'CREATE' && resource.group === '' && resource.resource === 'nodes' && subresource === '',
    mutate(attributes) {
      const node = attributes.object as Node;
      node.spec ??= {};
      const taints = node.spec.taints ?? [];
      if (taints.some((t) => t.key === NOT_READY.key && t.effect === NOT_READY.effect)) return;
      node.spec.taints = [...taints, { ...NOT_READY }];
    },
  };
}
