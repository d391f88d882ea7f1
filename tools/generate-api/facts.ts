// The table of facts about the API the generator starts from, and the overlay of types it lacks. A fact type is
// named `<package>.<version>.<Type>` (`core.v1.Pod`); the few without a version (`resource.Quantity`) are scalars.

import { readFileSync } from 'node:fs';
import { extraTypes } from './extra-types.ts';

/** One JSON field of a type; see the README beside the facts for the meaning of each property. */
export interface FactField {
  type: string;
  required?: boolean;
  listType?: string;
  listMapKeys?: string[];
  mapType?: string;
  patchStrategy?: string;
  patchMergeKey?: string;
  default?: unknown;
  pb?: number;
  pbType?: string;
  via?: string;
  pointer?: boolean;
  omitempty?: boolean;
  values?: string[];
  closed?: boolean;
}

/** A struct (`fields`) or a scalar with a special JSON form (`scalar`). */
export interface FactType {
  fields?: Record<string, FactField>;
  gvk?: [string, string, string];
  mapType?: string;
  pbInline?: Record<string, [number, string]>;
  pbOnly?: Record<string, [number, string]>;
  scalar?: string;
}

/** One resource or sub-resource. `kind` is group, version, kind of the objects it takes. */
export interface FactResource {
  group: string;
  version: string;
  resource: string;
  subresource?: string;
  namespaced: boolean;
  verbs: string[];
  kind: [string, string, string];
}

/** The facts as the generator uses them: served types, overlay types, and resources. */
export interface Facts {
  apiVersion: string;
  types: Map<string, FactType>;
  protoOnly: Record<string, Record<string, [number, string]>>;
  resources: FactResource[];
}

/** Reads the facts file and adds the overlay types (protobuf messages no served path names). */
export function loadFacts(path: string): Facts {
  const raw = JSON.parse(readFileSync(path, 'utf8')) as {
    apiVersion: string;
    types: Record<string, FactType>;
    protoOnlyTypes: Record<string, Record<string, [number, string]>>;
    resources: FactResource[];
  };
  const types = new Map(Object.entries(raw.types));
  for (const [name, type] of Object.entries(extraTypes(raw.protoOnlyTypes))) {
    if (!types.has(name)) types.set(name, type);
  }
  for (const type of types.values()) correctReferences(type);
  const disk = types.get('core.v1.AzureDiskVolumeSource')?.fields?.['kind'];
  if (disk !== undefined) disk.pointer = true;
  correctRules(types);
  return { apiVersion: raw.apiVersion, types, protoOnly: raw.protoOnlyTypes, resources: raw.resources };
}

/** Upstream's versions before v1 embed v1's RuleWithOperations, whose fields are omitted when empty. */
function correctRules(types: ReadonlyMap<string, FactType>): void {
  const fields = types.get('admissionregistration.v1.NamedRuleWithOperations')?.fields ?? {};
  for (const version of ['v1alpha1', 'v1beta1']) {
    const older = types.get(`admissionregistration.${version}.NamedRuleWithOperations`)?.fields ?? {};
    for (const [name, { omitempty, pointer }] of Object.entries(fields))
      Object.assign(older[name] ?? {}, {
        ...(omitempty === true && { omitempty }),
        ...(pointer === true && { pointer }),
      });
  }
}

/** The facts lack `omitempty` on the apiVersion and kind of references, where it stands upstream unless required. */
function correctReferences(type: FactType): void {
  for (const name of ['apiVersion', 'kind']) {
    const field = type.fields?.[name];
    if (field?.pb !== undefined && field.required !== true) field.omitempty = true;
  }
}
