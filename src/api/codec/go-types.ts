// The names of Go types as upstream's decoding errors show them.
import { typeSchema } from '../schema/schema.ts';
import type { StructSchema, TypeSchema } from '../schema/type-schema.ts';
import { GO_SCALAR_NAMES } from './scalars.ts';

/** Go's name of a struct, from `core.v1.PodSpec`: `PodSpec`. */
export const goStruct = (name: string): string => name.slice(name.lastIndexOf('.') + 1);

/** Go's name of a type with its package: `v1.PodSpec`, `[]v1.Container`, `map[string]string`. */
export function goType(type: TypeSchema): string {
  switch (type.kind) {
    case 'scalar':
      return GO_SCALAR_NAMES[type.scalar];
    case 'struct':
      return type.name.split('.').slice(-2).join('.');
    case 'list':
      return `[]${goType(type.items)}`;
    case 'map':
      return `map[string]${goType(type.values)}`;
    case 'any':
      return 'map[string]interface {}';
  }
}

const DEVICE_CONFIGURATION = ['DeviceConfiguration'];
const REFERENCE = ['LocalObjectReference'];

/** Structs that embed others in Go, and the names of the embedded structs from the outermost to the innermost. */
const EMBEDDED: Readonly<Record<string, readonly string[]>> = {
  ConfigMapEnvSource: REFERENCE,
  ConfigMapKeySelector: REFERENCE,
  ConfigMapProjection: REFERENCE,
  ConfigMapVolumeSource: REFERENCE,
  DeviceAllocationConfiguration: DEVICE_CONFIGURATION,
  DeviceClaimConfiguration: DEVICE_CONFIGURATION,
  DeviceClassConfiguration: DEVICE_CONFIGURATION,
  EphemeralContainer: ['EphemeralContainerCommon'],
  IngressRule: ['IngressRuleValue'],
  NamedRuleWithOperations: ['RuleWithOperations', 'Rule'],
  PersistentVolumeSpec: ['PersistentVolumeSource'],
  Probe: ['ProbeHandler'],
  RuleWithOperations: ['Rule'],
  SecretEnvSource: REFERENCE,
  SecretKeySelector: REFERENCE,
  SecretProjection: REFERENCE,
  Volume: ['VolumeSource'],
};

/**
 * The field names on the way to a value as Go's type errors show them: without indexes and map keys, with the embedded structs
 * that hold a field.
 */
export function goPath(root: TypeSchema, path: readonly (string | number)[]): string[] {
  let names: string[] = [];
  let type: TypeSchema | undefined = root;
  for (const step of path) {
    if (type?.kind === 'list') type = type.items;
    else if (type?.kind === 'map') type = type.values;
    else if (typeof step === 'string') {
      // A union within a schema has a decoder of its own in Go, whose errors lack the path to it.
      if (type?.kind === 'any') names = [];
      const struct: StructSchema = type?.kind === 'struct' ? type : schemaProps();
      const field = struct.fields.get(step);
      const depth = Math.max(0, (field?.pb.length ?? 0) - 1);
      names = [...names, ...(EMBEDDED[goStruct(struct.name)] ?? []).slice(0, depth), step];
      type = field?.type ?? typeSchema('meta.v1.ObjectMeta');
    }
  }
  return names;
}

function schemaProps(): StructSchema {
  return typeSchema('apiextensions.v1.JSONSchemaProps') as StructSchema;
}
