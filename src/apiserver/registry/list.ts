/** Every built-in resource, in one list. A new resource adds its line here. */
import { appsDefinitions } from './apps/definitions.ts';
import { autoscalingDefinitions } from './autoscaling/definitions.ts';
import { batchDefinitions } from './batch/definitions.ts';
import { certificatesDefinitions } from './certificates/definitions.ts';
import { clusterDefinitions } from './cluster-definitions.ts';
import { coreDefinitions } from './core/definitions.ts';
import { eventDefinitions } from './core/events/definition.ts';
import { namespaceDefinition } from './core/namespaces/definition.ts';
import { nodeDefinition } from './core/nodes/definition.ts';
import { podDefinitions } from './core/pods/definition.ts';
import { serviceDefinition } from './core/services/definition.ts';
import { dynamicResourceDefinitions } from './dynamic-resources/definitions.ts';
import { networkingDefinitions } from './networking/definitions.ts';
import { rbacDefinitions } from './rbac/definitions.ts';
import type { ResourceDefinition } from './resource-definition.ts';
import { reviewDefinitions } from './reviews/definitions.ts';
import { schedulingDefinitions } from './scheduling/definitions.ts';
import type { RegistryServices } from './services.ts';
import { storageDefinitions } from './storage/definitions.ts';
import { storageVersionDefinitions } from './storage-versions/definitions.ts';
import { withVersionForms } from './version-forms.ts';

/** The definitions of all built-in resources, without those whose service is missing. */
export function createResourceDefinitions(services: RegistryServices): readonly ResourceDefinition[] {
  return withVersionForms([
    ...podDefinitions(services),
    serviceDefinition(services),
    nodeDefinition(services),
    namespaceDefinition(),
    ...eventDefinitions(services.eventTtlSeconds),
    ...coreDefinitions(services),
    ...appsDefinitions,
    ...batchDefinitions,
    ...autoscalingDefinitions,
    ...networkingDefinitions,
    ...rbacDefinitions,
    ...schedulingDefinitions,
    ...storageDefinitions,
    ...storageVersionDefinitions,
    ...certificatesDefinitions(services),
    ...dynamicResourceDefinitions(services),
    ...clusterDefinitions,
    ...reviewDefinitions(services),
  ]);
}
