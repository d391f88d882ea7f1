/** Requests to the API server of the page's origin. A failure is an `ApiError` with the server's Status. */
import type { Status } from '../../api/gen/meta-v1.ts';

/** Proves to the server that the request comes from the console's own page, not from another site. */
const OWN_HEADERS = { 'X-Keelson-Console': '1' };

/** The error of a request that the server refused, or that did not reach it (code 0). */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: Partial<Status>;

  constructor(status: Partial<Status>) {
    super(status.message ?? `HTTP ${status.code ?? 0}`);
    this.status = status;
  }

  get code(): number {
    return this.status.code ?? 0;
  }
}

export interface Call {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
  /** Set when a pod responds through the proxy: its 401 does not concern the session. */
  readonly foreign?: boolean;
}

type Listener = () => void;
const onSignedOut = new Set<Listener>();

/** Calls `listener` when the server no longer accepts the session. Returns a function that removes it. */
export function whenSignedOut(listener: Listener): () => void {
  onSignedOut.add(listener);
  return () => onSignedOut.delete(listener);
}

/** Rejects with `ApiError` for a status of 400 and above, and when the server does not respond. */
export async function send(path: string, call: Call = {}): Promise<Response> {
  const { foreign = false } = call;
  const response = await reach(foreign ? path : unindented(path), call);
  if (response.ok) return response;
  const status = await statusOf(response);
  if (response.status === 401 && !foreign) for (const listener of onSignedOut) listener();
  throw new ApiError(status);
}

export async function sendJson<T>(path: string, call: Call = {}): Promise<T> {
  const response = await send(path, { ...call, headers: { Accept: 'application/json', ...call.headers } });
  return await jsonOf<T>(response, call.signal);
}

/** The response's content. Rejects with `ApiError` when the response breaks off. */
export function jsonOf<T>(response: Response, signal?: AbortSignal): Promise<T> {
  return whole(() => response.json() as Promise<T>, signal);
}

/** The response's content as text. Rejects with `ApiError` when the response breaks off. */
export function textOf(response: Response, signal?: AbortSignal): Promise<string> {
  return whole(() => response.text(), signal);
}

async function whole<T>(read: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new ApiError({ code: 0, reason: 'Unreachable', message: 'the answer of the API server broke off' });
  }
}

/**
 * Repeats a read once. Browsers drop requests when a network link of the machine changes, which on a cluster's node happens with
 * every pod.
 */
async function reach(path: string, { foreign: _, ...call }: Call): Promise<Response> {
  const isRead = call.method === undefined || call.method === 'GET';
  const init = { ...call, headers: { ...OWN_HEADERS, ...call.headers }, redirect: 'error' } as const;
  try {
    return await fetch(path, init).catch((error: unknown) => {
      if (!isRead || call.signal?.aborted === true) throw error;
      return fetch(path, init);
    });
  } catch (error) {
    if (call.signal?.aborted === true) throw error;
    throw new ApiError({ code: 0, reason: 'Unreachable', message: 'the API server does not answer' });
  }
}

/** Requests JSON without the indentation that browsers get by default. */
function unindented(path: string): string {
  return `${path}${path.includes('?') ? '&' : '?'}pretty=false`;
}

async function statusOf(response: Response): Promise<Partial<Status>> {
  const text = await response.text();
  const plain = { code: response.status, message: text.trim() || `HTTP ${response.status}` };
  if (response.headers.get('content-type')?.includes('json') !== true) return plain;
  try {
    return { ...plain, ...(JSON.parse(text) as Partial<Status>) };
  } catch {
    return plain; // the response broke off
  }
}
