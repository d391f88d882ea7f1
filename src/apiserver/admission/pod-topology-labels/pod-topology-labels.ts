/** PodTopologyLabels: a pod assigned to a node gets the node's topology labels. Upstream: plugin/pkg/admission/podtopologylabels. */
import type { Binding, Pod } from '../../../api/gen/core-v1.ts';
import { Nodes } from '../../../api/gen/resources.ts';
import type { KubernetesObject } from '../../../api/object.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
import type { AdmissionPlugin } from '../contract.ts';
import { isOn } from '../refusal.ts';

const LABELS = ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region'];

export function createPodTopologyLabels(objects: () => ObjectStore): AdmissionPlugin {
  return {
    name: 'PodTopologyLabels',
    handles: (operation, resource, subresource) =>
      operation === 'CREATE' &&
      (isOn(resource, subresource, { resource: 'pods', subresource: 'binding' }) ||
        isOn(resource, subresource, { resource: 'pods' })),
    mutate({ object, subresource }) {
      const node = subresource === '' ? (object as Pod).spec?.nodeName : targetOf(object as Binding);
      if ((node ?? '') === '') return;
      const labels = objects().get(Nodes, '', node!)?.metadata.labels ?? {};
      const copied = LABELS.filter((key) => labels[key] !== undefined).map((key) => [key, labels[key]!]);
      if (copied.length > 0) addLabels(object!, Object.fromEntries(copied));
    },
  };
}

function targetOf({ target }: Binding): string | undefined {
  return (target?.kind ?? '') === '' || target.kind === 'Node' ? target?.name : undefined;
}

/** The node's labels override the pod's, as upstream. */
function addLabels(object: KubernetesObject, labels: Record<string, string>): void {
  object.metadata ??= {};
  object.metadata.labels = { ...object.metadata.labels, ...labels };
}
