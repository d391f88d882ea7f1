/**
 * The resource definitions of a custom resource definition, one per version, for the generic handlers. Upstream:
 * apiextensions-apiserver/pkg/apiserver/customresource_handler.go getOrCreateServingInfoFor.
 *
 * Versions that are not served are defined too, since objects may be stored in them. All share one prefix,
 * `/registry/GROUP/PLURAL/`.
 */
import { shown } from '../../base/shown.ts';
import type { CustomResourceDefinition, CustomResourceDefinitionVersion } from '../../api/gen/apiextensions-v1.ts';
import { findValues } from '../../api/json-path-search.ts';
import { parseJsonPath } from '../../api/json-path.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { apiVersionOf, type ResourceInfo, type SubresourceInfo } from '../../api/resource-info.ts';
import { structuralSchema } from '../../api/schema/structural.ts';
import { compareVersions } from '../discovery/groups.ts';
import type { ResourceDefinition, SelectableFields } from '../registry/resource-definition.ts';
import { isConditionTrue } from './conditions.ts';
import { type ConversionDeps, webhookConversion } from './conversion.ts';
import { customPrinter } from './custom-printer.ts';
import { type CustomRules, customStatusStrategy, customStrategy } from './custom-strategy.ts';
import { customScale } from './scale-access.ts';
import { type CustomVersions, versionReading } from './versions.ts';
import { createCustomValidator } from './validator.ts';

/** In the order in which upstream lists those of custom resources, which is another than that of built-in ones. */
const VERBS = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];
/** Not named in discovery while the definition is being deleted. */
const WRITING_VERBS = ['patch', 'create', 'update'];
const SUBRESOURCE_VERBS = ['get', 'patch', 'update'];

/** The key prefix of a definition's objects. */
export function customPrefix({ spec }: CustomResourceDefinition): string {
  return `/registry/${spec.group}/${spec.names.plural}/`;
}

function subresources(
  definition: CustomResourceDefinition,
  version: CustomResourceDefinitionVersion,
): SubresourceInfo[] {
  const { group } = definition.spec;
  const { kind } = namesOf(definition);
  const subresourceInfos: SubresourceInfo[] = [];
  if (version.subresources?.status !== undefined)
    subresourceInfos.push({ name: 'status', group, version: version.name, kind, verbs: SUBRESOURCE_VERBS });
  if (version.subresources?.scale !== undefined)
    subresourceInfos.push({
      name: 'scale',
      group: 'autoscaling',
      version: 'v1',
      kind: 'Scale',
      verbs: SUBRESOURCE_VERBS,
    });
  return subresourceInfos;
}

function namesOf({ spec, status }: CustomResourceDefinition): CustomResourceDefinition['spec']['names'] {
  const accepted = status?.acceptedNames;
  return accepted === undefined || accepted.kind === '' ? spec.names : accepted;
}

/** The discovery information of a version. */
export function customInfo(
  definition: CustomResourceDefinition,
  version: CustomResourceDefinitionVersion,
): ResourceInfo<KubernetesObject> {
  const { spec } = definition;
  const { kind, listKind, singular, shortNames = [], categories = [] } = namesOf(definition);
  return {
    group: spec.group,
    version: version.name,
    resource: spec.names.plural,
    kind,
    listKind: listKind ?? `${kind}List`,
    singular: singular ?? kind.toLowerCase(),
    namespaced: spec.scope === 'Namespaced',
    verbs: VERBS,
    ...(isConditionTrue(definition, 'Terminating') && { hiddenVerbs: WRITING_VERBS }),
    subresources: subresources(definition, version),
    shortNames,
    categories,
  };
}

function selectable({ selectableFields = [] }: CustomResourceDefinitionVersion): SelectableFields<KubernetesObject> {
  const fields = selectableFields.map(({ jsonPath }) => ({
    name: jsonPath.replace(/^\./, ''),
    path: parseJsonPath(jsonPath),
  }));
  return (object) =>
    Object.fromEntries(
      fields.map(({ name, path }) => {
        const [value] = findValues(path, object);
        return [name, value === undefined || value === null ? '' : shown(value)];
      }),
    );
}

/** By default it proposes the best served version that is newer and not deprecated itself. Upstream: defaultDeprecationWarning. */
function deprecation(
  definition: CustomResourceDefinition,
  version: CustomResourceDefinitionVersion,
): string | undefined {
  if (version.deprecated !== true) return undefined;
  if (version.deprecationWarning !== undefined) return version.deprecationWarning;
  const { group, versions = [] } = definition.spec;
  const kindIn = (name: string): string => `${apiVersionOf({ group, version: name })} ${namesOf(definition).kind}`;
  const [best] = versions
    .filter(({ name, served, deprecated }) => served && deprecated !== true && compareVersions(name, version.name) < 0)
    .map(({ name }) => name)
    .toSorted(compareVersions);
  return `${kindIn(version.name)} is deprecated${best === undefined ? '' : `; use ${kindIn(best)}`}`;
}

export interface CustomParts {
  readonly conversion: ConversionDeps;
}

function versionsOf(definition: CustomResourceDefinition): CustomVersions {
  const infos = definition.spec.versions.map((version) => ({ version, info: customInfo(definition, version) }));
  const { info } = infos.find(({ version }) => version.storage) ?? infos[0]!;
  const schemas = new Map(
    infos.map((one) => [apiVersionOf(one.info), structuralSchema(one.version.schema?.openAPIV3Schema, one.info)]),
  );
  const forms = new Map([...schemas].map(([version, schema]) => [version, { schema }]));
  return { schemas, forms, stored: apiVersionOf(info) };
}

function defineVersion(
  definition: CustomResourceDefinition,
  version: CustomResourceDefinitionVersion,
  { versions, conversion }: CustomParts & { readonly versions: CustomVersions },
): ResourceDefinition {
  const info = customInfo(definition, version);
  const schema = versions.schemas.get(apiVersionOf(info))!;
  const scale = version.subresources?.scale;
  const rules: CustomRules = {
    resource: { group: info.group, resource: info.resource },
    schema,
    hasStatus: version.subresources?.status !== undefined,
    terminating: isConditionTrue(definition, 'Terminating'),
    validate: createCustomValidator(version),
  };
  const warning = deprecation(definition, version);
  const { uid = '', generation = 0 } = definition.metadata;
  const webhook = webhookConversion(definition, version.name, conversion);
  const key = `${version.name} ${uid} ${generation}`;
  return {
    info,
    schema,
    versions: webhook === undefined ? versions.forms : undefined,
    storageVersion: version.storage,
    enabledByDefault: version.served,
    storagePrefix: customPrefix(definition),
    strategy: customStrategy(rules),
    objectSubresources: rules.hasStatus ? { status: { strategy: customStatusStrategy(rules) } } : {},
    selectableFields: selectable(version),
    printer: customPrinter(version.additionalPrinterColumns),
    reading: versionReading(versions, { key, apiVersion: apiVersionOf(info), webhook }),
    scale: scale && customScale(scale),
    deprecationWarning: warning,
  };
}

/** The resources of a definition, those that are not served included. */
export function customDefinitions(definition: CustomResourceDefinition, parts: CustomParts): ResourceDefinition[] {
  const versions = versionsOf(definition);
  return definition.spec.versions.map((version) => defineVersion(definition, version, { ...parts, versions }));
}
