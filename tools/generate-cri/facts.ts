// The facts about CRI v1 and the naming rules shared by both emitters.

import { plainFieldName } from '../../src/grpc/protobuf-table.ts';

/** Services, enums and messages of one protobuf package. */
export interface CriFacts {
  package: string;
  services: Record<string, Record<string, [string, string]>>;
  enums: Record<string, Record<string, number>>;
  messages: Record<string, Record<string, [number, string]>>;
}

const nanosecondFields = new Set(['created_at', 'started_at', 'finished_at', 'timestamp']);

/** What a field is converted to beside its protobuf type: nanoseconds become milliseconds, bare timeouts bear their unit. */
export function conversionOf(name: string, type: string): '' | 'ns' | 'seconds' {
  if (type !== 'int64') return '';
  if (nanosecondFields.has(name)) return 'ns';
  return name === 'timeout' ? 'seconds' : '';
}

/** The name of a field in our types: protobuf's JSON name, with the unit where a conversion applies. */
export function fieldName(name: string, type: string): string {
  return plainFieldName({ name, type, number: 0, conversion: conversionOf(name, type) });
}

/** `RunPodSandbox` → `runPodSandbox`. */
export function methodName(name: string): string {
  return name.charAt(0).toLowerCase() + name.slice(1);
}
