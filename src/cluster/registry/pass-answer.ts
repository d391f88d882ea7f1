/** Passes the answer of another registry on to the client of this one. */
import { onAbort } from '../../base/abort.ts';
import type { HttpRequest, HttpResponse } from '../../platform/http.ts';
import type { HttpAnswer } from '../../platform/net.ts';

const PASSED_HEADERS = [
  'content-type',
  'content-length',
  'content-range',
  'docker-content-digest',
  'accept-ranges',
  'etag',
];

/** The answer is cancelled when the client is gone. */
export function passAnswer(answer: HttpAnswer, { method, signal }: HttpRequest): HttpResponse {
  // The client may have disconnected by now.
  if (signal.aborted) answer.cancel();
  else onAbort(signal, () => answer.cancel());
  const { status, body } = answer;
  const headers = Object.fromEntries(
    PASSED_HEADERS.flatMap((name) => (answer.headers[name] === undefined ? [] : [[name, answer.headers[name]]])),
  );
  if (method === 'HEAD') {
    answer.cancel();
    return { kind: 'bytes', status, headers, chunks: [] };
  }
  return {
    kind: 'stream',
    status,
    headers,
    async run(sink) {
      try {
        for await (const piece of body) await sink.write(piece);
        await sink.end();
      } finally {
        answer.cancel();
      }
    },
  };
}
