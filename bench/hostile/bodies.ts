// Functions that build inputs.

/** One request. A `path` without a leading slash is relative to the namespace of the run. */
export interface HostileRequest {
  readonly method: string;
  readonly path: string;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** A hostile input: requests that prepare it, and the measured one. */
export interface HostileInput {
  readonly name: string;
  readonly before?: () => readonly HostileRequest[];
  readonly request: () => HostileRequest;
  /** How long the server continues to work after its response. */
  readonly settleMs?: number;
}

/** The server's limit of a body. */
export const BODY_LIMIT = 3 * 1024 * 1024;

/** The part repeated up to the limit. */
export function fill(part: string, limit = BODY_LIMIT, around: readonly [string, string] = ['', '']): string {
  const room = limit - Buffer.byteLength(around[0]) - Buffer.byteLength(around[1]);
  return around[0] + part.repeat(Math.floor(room / Buffer.byteLength(part))) + around[1];
}

let mostItems = Infinity;

/** Limits the items of lists and maps, so that the input stays below the limit of parts and is read to its end. */
export function limitItems(count: number): void {
  mostItems = count;
}

/** Parts computed from their index and joined, up to the limit. */
export function list(part: (index: number) => string, around: readonly [string, string], limit = BODY_LIMIT): string {
  const parts: string[] = [];
  let room = limit - around[0].length - around[1].length;
  for (let index = 0; ; index++) {
    const next = part(index);
    room -= Buffer.byteLength(next) + 1;
    if (room < 0 || index >= mostItems) return around[0] + parts.join(',') + around[1];
    parts.push(next);
  }
}
