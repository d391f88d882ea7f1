/** The services resource. */
import { Services } from '../../../../api/gen/resources.ts';
import { defineResource } from '../../define-resource.ts';
import { serviceProxySubresource } from '../../kubelet-connect.ts';
import type { ResourceDefinition } from '../../resource-definition.ts';
import type { RegistryServices } from '../../services.ts';
import { servicePrinter } from './tables.ts';
import { serviceStrategy } from './strategy.ts';

export function serviceDefinition({
  objects,
  serviceAllocator,
  kubeletConnector,
}: RegistryServices): ResourceDefinition {
  return defineResource(Services, {
    ...serviceStrategy(serviceAllocator),
    prefix: 'services/specs',
    printer: servicePrinter,
    selectableFields: ({ spec }) => ({ 'spec.clusterIP': spec?.clusterIP ?? '', 'spec.type': spec?.type ?? '' }),
    connectSubresources: kubeletConnector && { proxy: serviceProxySubresource(objects, kubeletConnector) },
  });
}
