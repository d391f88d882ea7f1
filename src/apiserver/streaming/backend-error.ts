/** Errors between the API server and a kubelet, pod or service, as a Status. Upstream: GenericHttpResponseChecker. */
import { badRequest, internalError, StatusError, statusFailure } from '../../api/status-error.ts';
import { errorMessage } from '../../base/errors.ts';
import type { HttpAnswer } from '../../platform/net.ts';
import { isProgramError } from '../../platform/unexpected.ts';

const MAX_ERROR_BYTES = 50_000;

/** The error for an unreachable backend. */
export function dialError(error: unknown): StatusError {
  if (isProgramError(error)) throw error;
  if (error instanceof StatusError) return error;
  const text = errorMessage(error);
  return statusFailure(500, '', `error dialing backend: ${text}`);
}

/** The Status for a kubelet's refusal. Reads the response's body. */
export async function kubeletRefusal(
  answer: HttpAnswer,
  about: { readonly resource: string; readonly name: string },
): Promise<StatusError> {
  const text = await readText(answer);
  if (answer.status === 500) return internalError(text);
  if (answer.status === 400) return badRequest(text);
  const where = `( ${about.resource} ${about.name})`;
  if (answer.status === 404)
    return statusFailure(404, 'NotFound', `the server could not find the requested resource ${where}`);
  if (answer.status === 401)
    return statusFailure(401, 'Unauthorized', `the server has asked for the client to provide credentials ${where}`);
  if (answer.status === 403) return statusFailure(403, 'Forbidden', text);
  return statusFailure(
    answer.status,
    '',
    `the server responded with the status code ${answer.status} but did not return more information ${where}: ${text}`,
  );
}

async function readText(answer: HttpAnswer): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of answer.body) {
    chunks.push(chunk);
    length += chunk.byteLength;
    if (length > MAX_ERROR_BYTES) {
      answer.cancel();
      break;
    }
  }
  return Buffer.concat(chunks).subarray(0, MAX_ERROR_BYTES).toString('utf8');
}
