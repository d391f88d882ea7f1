/** The core kinds without a folder of their own. */
import {
  setEndpointsDefaults,
  setLimitRangeDefaults,
  setResourceQuotaDefaults,
  setReplicationControllerDefaults,
  setSecretDefaults,
} from '../../../api/defaults/core.ts';
import { setPodTemplateDefaults } from '../../../api/defaults/pod.ts';
import { setPersistentVolumeClaimDefaults, setPersistentVolumeDefaults } from '../../../api/defaults/volumes.ts';
import type { PersistentVolumeClaim, ServiceAccount } from '../../../api/gen/core-v1.ts';
import {
  ComponentStatuses,
  ConfigMaps,
  Endpoints,
  LimitRanges,
  PersistentVolumeClaims,
  PersistentVolumes,
  PodTemplates,
  ReplicationControllers,
  ResourceQuotas,
  Secrets,
  ServiceAccounts,
} from '../../../api/gen/resources.ts';
import { compileLabelMap } from '../../../api/label-selector.ts';
import { notFound } from '../../../api/status-error.ts';
import { validateReplicationController } from '../../../api/validation/apps.ts';
import {
  validateConfigMap,
  validateConfigMapUpdate,
  validateSecret,
  validateSecretUpdate,
} from '../../../api/validation/config.ts';
import { validateEndpoints, validateEndpointsUpdate, validatePodTemplate } from '../../../api/validation/core-small.ts';
import { validateLimitRange } from '../../../api/validation/limit-range.ts';
import { validatePersistentVolumeClaimStatus } from '../../../api/validation/persistent-volume-claim-status.ts';
import {
  validatePersistentVolumeClaim,
  validatePersistentVolumeClaimUpdate,
} from '../../../api/validation/persistent-volume-claim.ts';
import { validatePersistentVolume, validatePersistentVolumeUpdate } from '../../../api/validation/persistent-volume.ts';
import {
  validateResourceQuota,
  validateResourceQuotaStatus,
  validateResourceQuotaUpdate,
} from '../../../api/validation/resource-quota.ts';
import { validateReplicaSetStatus } from '../../../api/validation/workload-status.ts';
import { endpointsWarnings } from '../../../api/warnings/network.ts';
import { serviceAccountWarnings } from '../../../api/warnings/small-kinds.ts';
import { persistentVolumeClaimWarnings, persistentVolumeWarnings } from '../../../api/warnings/volumes.ts';
import { podTemplateObjectWarnings, workloadWarnings } from '../../../api/warnings/workloads.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Random } from '../../../platform/random.ts';
import { defineResource, defineVirtual } from '../define-resource.ts';
import { specOf } from '../kind-strategy.ts';
import { createdPrinter } from '../printing.ts';
import type { CreateSubresource, ResourceDefinition, VirtualResource } from '../resource-definition.ts';
import type { ComponentHealth, RegistryServices } from '../services.ts';
import { tokenSubresource } from './serviceaccounts/token.ts';
import { endpointsPrinter } from './services/tables.ts';
import {
  componentStatusPrinter,
  configMapPrinter,
  podTemplatePrinter,
  replicationControllerPrinter,
  resourceQuotaPrinter,
  secretPrinter,
  serviceAccountPrinter,
} from './tables.ts';
import { stampPhase } from './volume-phase.ts';
import { persistentVolumeClaimPrinter, persistentVolumePrinter } from './volume-tables.ts';

/** Sets the older field for a claim's data source from the newer one. */
function syncDataSource(claim: PersistentVolumeClaim): void {
  const spec = claim.spec!;
  if (spec.dataSource !== undefined && spec.dataSourceRef === undefined) spec.dataSourceRef = { ...spec.dataSource };
  else if (
    spec.dataSource === undefined &&
    spec.dataSourceRef !== undefined &&
    spec.dataSourceRef.namespace === undefined
  ) {
    const { apiGroup, kind, name } = spec.dataSourceRef;
    const known =
      (kind === 'PersistentVolumeClaim' && (apiGroup ?? '') === '') ||
      (kind === 'VolumeSnapshot' && apiGroup === 'snapshot.storage.k8s.io');
    if (known) spec.dataSource = { kind, name, ...(apiGroup === undefined ? {} : { apiGroup }) };
  }
}

function configDefinitions(random: Random): ResourceDefinition[] {
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

function workloadDefinitions(): ResourceDefinition[] {
  return [
    defineResource(PodTemplates, {
      rules: {
        defaults: setPodTemplateDefaults,
        validate: validatePodTemplate,
        generationOf: ({ template }) => template,
        warnings: podTemplateObjectWarnings,
      },
      printer: podTemplatePrinter,
    }),
    defineResource(ReplicationControllers, {
      rules: {
        emptyStatus: { replicas: 0 },
        generationOf: specOf,
        defaults: setReplicationControllerDefaults,
        validate: validateReplicationController,
        warnings: workloadWarnings,
      },
      statusRules: { validateUpdate: validateReplicaSetStatus },
      prefix: 'controllers',
      printer: replicationControllerPrinter,
      defaultPropagation: 'Orphan',
      selectableFields: ({ status }) => ({ 'status.replicas': String(status?.replicas ?? 0) }),
      scale: {
        read: ({ spec, status }) => ({
          specReplicas: spec?.replicas ?? 0,
          statusReplicas: status?.replicas ?? 0,
          selector: compileLabelMap(spec?.selector).toString(),
        }),
        write: (draft, replicas) => {
          draft.spec = { ...draft.spec, replicas };
        },
        replicasPath: ['spec', 'replicas'],
      },
    }),
  ];
}

function volumeDefinitions(clock: Clock): ResourceDefinition[] {
  return [
    defineResource(PersistentVolumes, {
      rules: {
        emptyStatus: { phase: 'Pending' },
        defaults: setPersistentVolumeDefaults,
        validate: validatePersistentVolume,
        validateUpdate: validatePersistentVolumeUpdate,
        warnings: persistentVolumeWarnings,
        prepareForCreate: (draft) => stampPhase(draft, undefined, clock),
      },
      statusRules: { prepareForUpdate: (draft, old) => stampPhase(draft, old, clock) },
      printer: persistentVolumePrinter,
    }),
    defineResource(PersistentVolumeClaims, {
      rules: {
        emptyStatus: { phase: 'Pending' },
        defaults: setPersistentVolumeClaimDefaults,
        prepareForCreate: syncDataSource,
        prepareForUpdate: syncDataSource,
        validate: validatePersistentVolumeClaim,
        validateUpdate: validatePersistentVolumeClaimUpdate,
        warnings: persistentVolumeClaimWarnings,
      },
      statusRules: { validateUpdate: validatePersistentVolumeClaimStatus },
      printer: persistentVolumeClaimPrinter,
    }),
  ];
}

function componentStatuses(health: () => Promise<readonly ComponentHealth[]>): VirtualResource {
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

/**
 * Keeps only the names of references to secrets, which are in the account's namespace. Upstream:
 * cleanSecretReferences.
 */
function keepNamesOfSecrets(account: ServiceAccount): void {
  if (account.secrets !== undefined) account.secrets = account.secrets.map(({ name }) => ({ name }));
}

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
