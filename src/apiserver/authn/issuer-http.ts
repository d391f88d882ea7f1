/** Requests to an OpenID Connect issuer: limited in time, the body included, and in size. Redirects are not followed. */
import { AnswerTooLongError, answerText } from '../../platform/answer-text.ts';
import type { Clock } from '../../platform/clock.ts';
import type { HttpAnswer, HttpCall, Net } from '../../platform/net.ts';

export interface IssuerHttpDeps {
  readonly net: Pick<Net, 'http'>;
  readonly clock: Clock;
}

const TIMEOUT_MS = 30_000;
const MAX_DOCUMENT_BYTES = 1 << 20;

/** Whether a text is an https URL. */
export function isHttps(text: string): boolean {
  return URL.canParse(text) && new URL(text).protocol === 'https:';
}

/** The deadline includes the body: an issuer that stops in the middle counts as not answering. */
export async function requestIssuer<T>(
  { net, clock }: IssuerHttpDeps,
  call: Omit<HttpCall, 'signal' | 'timeoutMs' | 'headTimeoutMs'>,
  read: (answer: HttpAnswer) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const cancel = clock.setTimer(TIMEOUT_MS, () =>
    controller.abort(new Error(`${goMethod(call.method)} ${JSON.stringify(call.url)}: context deadline exceeded`)),
  );
  try {
    return await read(await net.http({ ...call, signal: controller.signal }));
  } finally {
    cancel();
  }
}

/** The whole body. Rejects beyond a mebibyte. */
export async function issuerText(answer: HttpAnswer, url: string): Promise<string> {
  return await answerText(answer, MAX_DOCUMENT_BYTES).catch((error: unknown) => {
    throw error instanceof AnswerTooLongError
      ? new Error(`${url} answers with more than ${MAX_DOCUMENT_BYTES} bytes`)
      : error;
  });
}

/** Go's http.Client writes methods in errors as `Get` and `Post`. */
function goMethod(method: string): string {
  return method.slice(0, 1) + method.slice(1).toLowerCase();
}
