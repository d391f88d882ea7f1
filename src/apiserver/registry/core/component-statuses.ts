/** Component statuses, which are read from the components at each request. Upstream: registry/core/componentstatus. */
import { notFound } from '../../../api/status-error.ts';
import { ComponentStatuses } from '../../../api/gen/resources.ts';
import type { VirtualResource } from '../resource-definition.ts';
import type { ComponentHealth } from '../services.ts';

export function componentStatuses(health: () => Promise<readonly ComponentHealth[]>): VirtualResource {
  const read = async () =>
    (await health()).map(({ name, healthy, message }) => {
      const condition = {
        type: 'Healthy',
        status: healthy ? 'True' : 'False',
        ...(healthy ? { message } : { error: message }),
      };
      return { apiVersion: 'v1', kind: 'ComponentStatus', metadata: { name }, conditions: [condition] };
    });
  return {
    list: read,
    async get(name) {
      const found = (await read()).find((component) => component.metadata.name === name);
      if (found === undefined) throw notFound(ComponentStatuses, name);
      return found;
    },
  };
}
