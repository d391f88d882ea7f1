/**
 * Builds a ResourceDefinition from a kind's rules, with upstream's defaults for store prefix, printer and status
 * sub-resource.
 */
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { kindStrategy, statusStrategy, type KindRules, type StatusRules } from './kind-strategy.ts';
import { defaultPrinter } from './printing.ts';
import type {
  ConnectSubresource,
  CreateSubresource,
  ObjectSubresource,
  Printer,
  ResourceDefinition,
  ScaleAccess,
  SelectableFields,
  Strategy,
  VirtualResource,
} from './resource-definition.ts';

/** The parts of a definition besides its rules. */
export interface DefinitionParts<T extends KubernetesObject> {
  readonly rules?: KindRules<T>;
  readonly statusRules?: StatusRules<T>;
  /** Below `/registry/`, without slashes at its ends. Default: the resource's name. */
  readonly prefix?: string;
  /** Replaces the strategy made from the rules. */
  readonly strategy?: Strategy<T>;
  readonly printer?: Printer<T>;
  readonly selectableFields?: SelectableFields<T>;
  readonly objectSubresources?: Readonly<Record<string, ObjectSubresource<T>>>;
  readonly createSubresources?: Readonly<Record<string, CreateSubresource>>;
  readonly connectSubresources?: Readonly<Record<string, ConnectSubresource>>;
  readonly scale?: ScaleAccess<T>;
  readonly conversion?: ResourceDefinition<T>['conversion'];
  readonly ttlSeconds?: number;
  readonly renewedField?: string;
  readonly defaultPropagation?: 'Orphan';
  readonly deletionWarning?: string;
}

/** Resources whose DELETE responds with the object. Upstream: ReturnDeletedObject of their stores. */
const RETURN_DELETED: Readonly<Record<string, readonly string[]>> = {
  '': [
    'persistentvolumeclaims',
    'persistentvolumes',
    'pods',
    'podtemplates',
    'resourcequotas',
    'serviceaccounts',
    'services',
  ],
  'resource.k8s.io': [
    'deviceclasses',
    'devicetaintrules',
    'resourceclaims',
    'resourceclaimtemplates',
    'resourcepoolstatusrequests',
    'resourceslices',
  ],
  'storage.k8s.io': ['csidrivers', 'csinodes', 'storageclasses', 'volumeattachments', 'volumeattributesclasses'],
};

/** Whether the version is stable: alpha and beta versions are served only on request. */
function isStable(version: string): boolean {
  return /^v\d+$/.test(version);
}

/** The definition of a stored resource. */
export function defineResource<T extends KubernetesObject>(
  info: ResourceInfo<T>,
  parts: DefinitionParts<NoInfer<T>> = {},
): ResourceDefinition {
  const { rules = {}, statusRules, prefix = info.resource, strategy, ...rest } = parts;
  const hasStatus = info.subresources.some((subresource) => subresource.name === 'status');
  const objectSubresources = {
    ...(hasStatus ? { status: { strategy: statusStrategy(rules, statusRules) } } : {}),
    ...parts.objectSubresources,
  };
  const definition: ResourceDefinition<T> = {
    printer: defaultPrinter,
    ...rest,
    info,
    enabledByDefault: isStable(info.version),
    returnsDeleted: RETURN_DELETED[info.group]?.includes(info.resource) === true,
    storagePrefix: `/registry/${prefix}/`,
    strategy: strategy ?? kindStrategy(rules),
    objectSubresources,
  };
  return ofAnyKind(definition);
}

/** The definition of a resource without storage. */
export function defineVirtual<T extends KubernetesObject>(
  info: ResourceInfo<T>,
  virtual: VirtualResource,
  printer: Printer<NoInfer<T>> | undefined = undefined,
): ResourceDefinition {
  const definition: ResourceDefinition<T> = {
    info,
    enabledByDefault: isStable(info.version),
    storagePrefix: '',
    strategy: kindStrategy<T>({}),
    virtual,
    printer,
  };
  return ofAnyKind(definition);
}

/** Hides the object type, since handlers know objects only by their definition. */
function ofAnyKind<T extends KubernetesObject>(definition: ResourceDefinition<T>): ResourceDefinition {
  return definition as unknown as ResourceDefinition;
}
