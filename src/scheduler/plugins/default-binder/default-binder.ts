/** DefaultBinder: binds through the pod's binding sub-resource. Upstream: plugins/defaultbinder. */
import { Pods } from '../../../api/gen/resources.ts';
import type { Client } from '../../../client/client.ts';
import type { SchedulerPlugin } from '../../framework/plugin.ts';
import { failed } from '../../framework/status.ts';

export function createDefaultBinder(client: Client): SchedulerPlugin {
  const pods = client.resource(Pods);
  return {
    name: 'DefaultBinder',
    async bind(_state, pod, { nodeName, signal }) {
      const { name, namespace, uid } = pod.metadata;
      const binding = {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name, namespace, uid },
        target: { apiVersion: 'v1', kind: 'Node', name: nodeName },
      };
      try {
        await pods.createSubresource({ namespace, name }, 'binding', binding, { signal });
        return undefined;
      } catch (error) {
        return failed('DefaultBinder', error);
      }
    },
  };
}
