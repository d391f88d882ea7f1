/** The core kinds without a folder of their own. */
import { ComponentStatuses, ServiceAccounts } from '../../../api/gen/resources.ts';
import { serviceAccountWarnings } from '../../../api/warnings/small-kinds.ts';
import { defineResource, defineVirtual } from '../define-resource.ts';
import type { CreateSubresource, ResourceDefinition } from '../resource-definition.ts';
import type { RegistryServices } from '../services.ts';
import { tokenSubresource } from './serviceaccounts/token.ts';
import { componentStatusPrinter, serviceAccountPrinter } from './tables.ts';
import { componentStatuses } from './component-statuses.ts';
import { configDefinitions, keepNamesOfSecrets } from './config-definitions.ts';
import { volumeDefinitions } from './volume-definitions.ts';
import { workloadDefinitions } from './workload-definitions.ts';

/** Definitions of the simpler core kinds. */
export function coreDefinitions({
  objects,
  platform,
  issueServiceAccountToken,
  componentHealth,
}: RegistryServices): ResourceDefinition[] {
  const createSubresources: Record<string, CreateSubresource> =
    issueServiceAccountToken === undefined ? {} : { token: tokenSubresource(objects, issueServiceAccountToken) };
  return [
    ...configDefinitions(platform.random),
    ...workloadDefinitions(),
    ...volumeDefinitions(platform.clock),
    defineResource(ServiceAccounts, {
      rules: {
        prepareForCreate: keepNamesOfSecrets,
        prepareForUpdate: keepNamesOfSecrets,
        warnings: serviceAccountWarnings,
      },
      printer: serviceAccountPrinter,
      createSubresources,
    }),
    ...(componentHealth === undefined
      ? []
      : [defineVirtual(ComponentStatuses, componentStatuses(componentHealth), componentStatusPrinter)]),
  ];
}
