// The facts about CRI v1, and the naming rules that both emitters share.

import { plainFieldName } from '../../src/grpc/protobuf-table.ts';

/** Services, enums and messages of one protobuf package. */
export interface CriFacts {
  package: string;
  services: Record<string, Record<string, [string, string]>>;
  enums: Record<string, Record<string, number>>;
  messages: Record<string, Record<string, [number, string]>>;
}

const nanosecondFields = new Set(['created_at', 'started_at', 'finished_at', 'timestamp']);

/**
 * The conversion of a field in addition to its protobuf type: nanoseconds become milliseconds, and names of timeouts in seconds
 * get the unit.
 */
export function conversionOf(name: string, type: string): '' | 'ns' | 'seconds' {
  if (type !== 'int64') return '';
  if (nanosecondFields.has(name)) return 'ns';
  return name === 'timeout' ? 'seconds' : '';
}

/** The name of a field in our types: protobuf's JSON name, with the unit when there is a conversion. */
export function fieldName(name: string, type: string): string {
  return plainFieldName({ name, type, number: 0, conversion: conversionOf(name, type) });
}

/** `RunPodSandbox` → `runPodSandbox`. */
export function methodName(name: string): string {
  return name.charAt(0).toLowerCase() + name.slice(1);
}
