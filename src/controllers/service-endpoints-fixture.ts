/** Fixtures of the tests of Endpoints and EndpointSlices: both controllers, a service and its pods. */
import type { Pod, Service } from '../api/gen/core-v1.ts';
import { EndpointSlices, Nodes } from '../api/gen/resources.ts';
import { type Harness, startHarness } from './controllers-fixture.ts';
import { createEndpointsController } from './endpoint/endpoints-controller.ts';
import { createEndpointSliceController } from './endpointslice/endpointslice-controller.ts';

/** Both controllers over an API with one node. */
export const start = (): Harness =>
  startHarness([createEndpointSliceController, createEndpointsController], {
    before: (api) => api.seed(Nodes, { metadata: { name: 'n1' } }),
  });

export const service = (spec: Partial<NonNullable<Service['spec']>> = {}): Service => ({
  metadata: { namespace: 'default', name: 'web', labels: { team: 'a' } },
  spec: {
    clusterIP: '10.43.0.7',
    ipFamilies: ['IPv4'],
    selector: { app: 'web' },
    ports: [{ name: 'http', port: 80, targetPort: 'web', protocol: 'TCP' }],
    ...spec,
  },
});
export const pod = (
  index: number,
  options: { ready?: boolean; phase?: string; node?: string; deleting?: boolean; port?: number } = {},
): Pod => ({
  metadata: {
    namespace: 'default',
    name: `web-${index}`,
    labels: { app: 'web' },
    ...(options.deleting === true ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
  },
  spec: {
    nodeName: options.node ?? 'n1',
    containers: [{ name: 'c', ports: [{ name: 'web', containerPort: options.port ?? 8080 }] }],
  },
  status: {
    phase: options.phase ?? 'Running',
    podIP: `10.42.${index >> 8}.${index & 255}`,
    podIPs: [{ ip: `10.42.${index >> 8}.${index & 255}` }],
    conditions: [
      { type: 'Ready', status: options.ready === false ? 'False' : 'True', lastTransitionTime: '2026-01-01T00:00:05Z' },
    ],
  },
});
export const slices = (h: Harness) => h.api.objects(EndpointSlices);
