// The names of Go types as upstream's decoding errors show them.
import type { TypeSchema } from '../schema/type-schema.ts';
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
