/** The part of dns-packet that cluster DNS uses; the package has no types of its own. */
declare module 'dns-packet' {
  export interface Record {
    readonly type: string;
    readonly name: string;
    readonly ttl?: number;
    readonly class?: string;
    readonly data?: unknown;
  }
  export interface Packet {
    readonly id: number;
    readonly type: 'query' | 'response';
    readonly flags: number;
    readonly flag_tc: boolean;
    readonly rcode: string;
    readonly questions: readonly { readonly name: string; readonly type: string; readonly class: string }[];
    readonly answers: readonly Record[];
    readonly authorities: readonly Record[];
    readonly additionals: readonly Record[];
  }
  /** `decode.bytes` is how many bytes the last call read. */
  export const decode: ((buffer: Uint8Array) => Packet) & { readonly bytes: number };
  /** Reads one record at an offset; `decode.bytes` is how many bytes the last call read. */
  export const answer: { decode: ((buffer: Uint8Array, offset: number) => Record) & { readonly bytes: number } };
  export function encode(packet: object): Buffer;
  /** The codec of a type's data, with its two bytes of length in front. */
  export function record(type: string): {
    encode(data: unknown, buffer?: Buffer, offset?: number): Buffer;
    encodingLength(data: unknown): number;
  };
}

declare module 'dns-packet/types.js' {
  const types: { toString(type: number): string; toType(name: string): number };
  export default types;
}
