// What the inputs are made of.

/** One request. `path` without a leading slash is below the namespace of the run. */
export interface HostileRequest {
  readonly method: string;
  readonly path: string;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** A hostile input: requests that prepare it, and the one that is measured. */
export interface HostileInput {
  readonly name: string;
  readonly before?: () => readonly HostileRequest[];
  readonly request: () => HostileRequest;
  /** How long the server works on after its answer. */
  readonly settleMs?: number;
}

/** What the server takes of a body. */
export const BODY_LIMIT = 3 * 1024 * 1024;

/** The part again and again, as long as the limit allows. */
export function fill(part: string, limit = BODY_LIMIT, around: readonly [string, string] = ['', '']): string {
  const room = limit - Buffer.byteLength(around[0]) - Buffer.byteLength(around[1]);
  return around[0] + part.repeat(Math.floor(room / Buffer.byteLength(part))) + around[1];
}

let mostItems = Infinity;

/** Lists and maps get no more items: what stays below the bound of parts is read to its end. */
export function limitItems(count: number): void {
  mostItems = count;
}

/** Parts made of their number, joined, as long as the limit allows. */
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
