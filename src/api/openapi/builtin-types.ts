// The types of the built-in resources, for the documents of both OpenAPI versions.

import { groupResourceOf, type ResourceInfo } from '../resource-info.ts';
import { schemaOf } from '../schema/schema.ts';
import type { PathFact } from './operation-facts.ts';
import { pathsOfResource, type ResourceTypes } from './operations.ts';

/** The parts of a document of built-in resources. */
export interface BuiltinDocument {
  readonly resources: readonly ResourceInfo[];
  /** The version at /version: `v1.36.0`. */
  readonly gitVersion: string;
  /** Whether deleting an object of the resource returns the deleted object. */
  readonly returnsDeleted: (info: ResourceInfo) => boolean;
}

/** The type name of a built-in kind. */
function builtinType(gvk: { group: string; version: string; kind: string }): string | undefined {
  return schemaOf(gvk.group, gvk.version, gvk.kind)?.name;
}

/** Throws for a resource without a schema. */
export function builtinPaths(info: ResourceInfo, returnsDeleted: BuiltinDocument['returnsDeleted']): PathFact[] {
  const object = builtinType(info);
  if (object === undefined) throw new Error(`no schema for ${groupResourceOf(info)}`);
  const list = schemaOf(info.group, info.version, info.listKind)?.name ?? object;
  const types: ResourceTypes = { object, list, subresource: builtinType, returnsDeleted: returnsDeleted(info) };
  return pathsOfResource(info, types);
}

/** Types that every operation of these paths refers to. */
export function typesOfPaths(paths: readonly PathFact[]): Set<string> {
  const out = new Set<string>(['meta.v1.Status', 'meta.v1.WatchEvent', 'meta.v1.APIResourceList', 'meta.v1.APIGroup']);
  for (const { operations } of paths) {
    for (const { body, result } of operations) {
      if (body !== undefined) out.add(body);
      if (result !== undefined) out.add(result);
    }
  }
  return out;
}
