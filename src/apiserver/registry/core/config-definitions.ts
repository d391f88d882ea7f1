/** Config maps, secrets, endpoints, limit ranges and resource quotas. */
import {
  setSecretDefaults,
  setEndpointsDefaults,
  setLimitRangeDefaults,
  setResourceQuotaDefaults,
} from '../../../api/defaults/core.ts';
import type { ServiceAccount } from '../../../api/gen/core-v1.ts';
import {
  validateConfigMap,
  validateConfigMapUpdate,
  validateSecret,
  validateSecretUpdate,
} from '../../../api/validation/config.ts';
import { validateEndpoints, validateEndpointsUpdate } from '../../../api/validation/core-small.ts';
import { validateLimitRange } from '../../../api/validation/limit-range.ts';
import {
  validateResourceQuota,
  validateResourceQuotaUpdate,
  validateResourceQuotaStatus,
} from '../../../api/validation/resource-quota.ts';
import { endpointsWarnings } from '../../../api/warnings/network.ts';
import type { Random } from '../../../platform/random.ts';
import { ConfigMaps, Secrets, Endpoints, LimitRanges, ResourceQuotas } from '../../../api/gen/resources.ts';
import { defineResource } from '../define-resource.ts';
import { createdPrinter } from '../printing.ts';
import type { ResourceDefinition } from '../resource-definition.ts';
import { endpointsPrinter } from './services/tables.ts';
import { configMapPrinter, secretPrinter, resourceQuotaPrinter } from './tables.ts';

export function configDefinitions(random: Random): ResourceDefinition[] {
  return [
    defineResource(ConfigMaps, {
      rules: { validate: validateConfigMap, validateUpdate: validateConfigMapUpdate },
      printer: configMapPrinter,
    }),
    defineResource(Secrets, {
      rules: { defaults: setSecretDefaults, validate: validateSecret, validateUpdate: validateSecretUpdate },
      printer: secretPrinter,
      selectableFields: ({ type }) => ({ type: type ?? '' }),
    }),
    defineResource(Endpoints, {
      rules: {
        defaults: setEndpointsDefaults,
        validate: validateEndpoints,
        validateUpdate: validateEndpointsUpdate,
        warnings: endpointsWarnings,
        allowCreateOnUpdate: true,
      },
      prefix: 'services/endpoints',
      printer: endpointsPrinter,
    }),
    defineResource(LimitRanges, {
      rules: {
        defaults: setLimitRangeDefaults,
        prepareForCreate: ({ metadata }) => {
          metadata.name ||= random.uuid();
        },
        validate: validateLimitRange,
        allowCreateOnUpdate: true,
      },
      printer: createdPrinter,
    }),
    defineResource(ResourceQuotas, {
      rules: {
        emptyStatus: {},
        defaults: setResourceQuotaDefaults,
        validate: validateResourceQuota,
        validateUpdate: validateResourceQuotaUpdate,
      },
      statusRules: { validateUpdate: validateResourceQuotaStatus },
      printer: resourceQuotaPrinter,
    }),
  ];
}

/**
 * Keeps only the names of references to secrets, which are in the account's namespace. Upstream:
 * cleanSecretReferences.
 */
export function keepNamesOfSecrets(account: ServiceAccount): void {
  if (account.secrets !== undefined) account.secrets = account.secrets.map(({ name }) => ({ name }));
}
