/** The versions of built-in kinds that differ by more than their names: fields are owned in the version of their manager. */
import type { VersionForm } from '../../api/managed-fields/other-versions.ts';
import { jsonOf, objectOf } from '../../api/object.ts';
import { apiVersionOf } from '../../api/resource-info.ts';
import { schemaOf } from '../../api/schema/schema.ts';
import type { ResourceDefinition } from './resource-definition.ts';

/** The definitions, with the versions of those kinds that are converted. */
export function withVersionForms(definitions: readonly ResourceDefinition[]): readonly ResourceDefinition[] {
  return definitions.map((definition) => {
    const versions = definitions.filter((other) => isSameKind(definition, other));
    if (!versions.some(({ conversion }) => conversion !== undefined)) return definition;
    return { ...definition, versions: new Map(versions.map((one) => [apiVersionOf(one.info), formOf(one)])) };
  });
}

function isSameKind(a: ResourceDefinition, b: ResourceDefinition): boolean {
  return a.storagePrefix !== '' && a.storagePrefix === b.storagePrefix && a.info.group === b.info.group;
}

/** The schema is read at its first use, which most servers never come to. */
function formOf({ info, conversion }: ResourceDefinition): VersionForm {
  return {
    get schema() {
      return schemaOf(info.group, info.version, info.kind)!;
    },
    conversion: conversion && {
      toStored: (object) => jsonOf(conversion.toStored(objectOf(object))),
      fromStored: (object) => jsonOf(conversion.fromStored(objectOf(object))),
    },
  };
}
