/** NodeDeclaredFeatureValidator: a pod on a node changes only in ways that the node's declared features support. Upstream: plugin/pkg/admission/nodedeclaredfeatures. */
import type { Pod } from '../../../api/gen/core-v1.ts';
import { Nodes } from '../../../api/gen/resources.ts';
import { featuresToUpdate, undeclaredFeatures } from '../../../component-helpers/node-declared-features.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
import type { AdmissionPlugin } from '../contract.ts';
import { isOn, refusal } from '../refusal.ts';

export function createNodeDeclaredFeatureValidator(objects: () => ObjectStore): AdmissionPlugin {
  return {
    name: 'NodeDeclaredFeatureValidator',
    handles: (operation, resource, subresource) =>
      operation === 'UPDATE' &&
      (isOn(resource, subresource, { resource: 'pods' }) ||
        isOn(resource, subresource, { resource: 'pods', subresource: 'resize' })),
    validate(attributes) {
      const pod = attributes.object as Pod;
      const nodeName = pod.spec?.nodeName ?? '';
      if (nodeName === '') return;
      const needed = featuresToUpdate(attributes.oldObject as Pod, pod);
      if (needed.length === 0) return;
      const node = objects().get(Nodes, '', nodeName);
      if (node === undefined) throw refusal(attributes, `node ${JSON.stringify(nodeName)} not found`);
      const lacking = undeclaredFeatures(needed, node);
      if (lacking.length > 0)
        throw refusal(
          attributes,
          `pod update requires features ${lacking.join(', ')} which are not available on node ${JSON.stringify(nodeName)}`,
        );
    },
  };
}
