/**
 * Makes a ResourceDefinition from a kind's rules: store prefix, printer and status sub-resource have upstream's defaults.
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

/** What a definition is made of beside its rules. */
export interface DefinitionParts<T extends KubernetesObject> {
  readonly rules?: KindRules<T>;
  readonly statusRules?: StatusRules<T>;
  /** Below `/registry/`, without slashes at its ends. Default: the resource's name. */
  readonly prefix?: string;
  /** Replaces what the rules would make. */
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
}

/** Resources whose DELETE answers with the object. Upstream: ReturnDeletedObject of their stores. */
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

/** Stable versions are served by default, alpha and beta ones only when asked for. */
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

/** Handlers know objects by their definition alone: the type of one kind's objects ends here. */
function ofAnyKind<T extends KubernetesObject>(definition: ResourceDefinition<T>): ResourceDefinition {
  return definition as unknown as ResourceDefinition;
}
