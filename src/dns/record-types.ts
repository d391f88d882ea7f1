/** Names and numbers of record types and response codes, as dns-packet spells them. */
import types from 'dns-packet/types.js';

/** The name of a type; `UNKNOWN_65` for those without one. */
export function typeName(type: number): string {
  return types.toString(type);
}

/** The number of a type's name. */
export function typeNumber(name: string): number {
  return types.toType(name);
}

/** Response codes. */
export const RCODES = { NOERROR: 0, FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5, BADVERS: 16 } as const;

export type Rcode = keyof typeof RCODES;
