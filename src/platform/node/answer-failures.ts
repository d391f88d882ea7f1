/** Handles responses that fail: who is notified, and what the client gets. */
import type { HttpResponse } from '../http.ts';
import type { Log } from '../log.ts';
import type { Http1Request } from './http1.ts';
import type { Http2Request } from './http2.ts';

/** Logs responses that could not be sent. */
export class AnswerFailures {
  readonly log: Log;

  constructor(log: Log) {
    this.log = log;
  }

  /** Reports the error with which the work fails. */
  watch(request: Http1Request | Http2Request, work: Promise<void> | undefined): void {
    work?.catch((error: unknown) => this.report(request, error));
  }

  report({ method, path }: Http1Request | Http2Request, error: unknown): void {
    this.log.unexpected('an answer could not be sent', error, { method, path });
  }

  /** After the head was sent, a broken connection is not a failure of the server. */
  reportUnlessLate(request: Http1Request | Http2Request, error: unknown, isLate: boolean): void {
    if (!isLate || !isOfConnection(error)) this.report(request, error);
  }
}

/** Upstream's response to a panic is a 500 too; API clients parse it as a Status. */
export const BROKEN_ANSWER = {
  kind: 'bytes',
  status: 500,
  headers: { 'content-type': 'application/json' },
  chunks: [
    Buffer.from(
      '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Internal error occurred: ' +
        'the answer could not be sent, the server\'s log has the reason","reason":"InternalError","code":500}\n',
    ),
  ],
} as const satisfies HttpResponse;

/** Whether a connection or the system caused the error. Node's own codes for misuse begin with ERR_. */
export function isOfConnection(error: unknown): boolean {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  return name === 'AbortError' || (typeof code === 'string' && (!code.startsWith('ERR_') || STREAM_ENDS.has(code)));
}

const STREAM_ENDS = new Set(['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED', 'ERR_HTTP2_INVALID_STREAM']);
