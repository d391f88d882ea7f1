/**
 * The client's error when a webhook denies the request or cannot be called. Upstream: webhook/errors and
 * util/webhook/error.go.
 */
import type { Status } from '../../../api/gen/meta-v1.ts';
import { badRequest, internalError, StatusError } from '../../../api/status-error.ts';
import { recordRefusal } from '../../refused-requests/refusal-source.ts';

/** The call failed; the webhook's failurePolicy decides whether the request is refused. */
export class CallingWebhookError extends Error {
  constructor(webhook: string, reason: string, options?: ErrorOptions) {
    super(`failed calling webhook ${JSON.stringify(webhook)}: ${reason}`, options);
    this.name = 'CallingWebhookError';
  }
}

/** The Status of a refusal. */
export function denial(webhook: string, result: Status | undefined): StatusError {
  const denied = `admission webhook ${JSON.stringify(webhook)} denied the request`;
  const { message = '', reason = '', code = 0, status = '' } = result ?? {};
  const text =
    message !== '' ? `${denied}: ${message}` : reason !== '' ? `${denied}: ${reason}` : `${denied} without explanation`;
  return new StatusError({
    ...result,
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: status === '' || status === 'Success' ? 'Failure' : status,
    message: text,
    code: code < 400 ? 400 : code,
  });
}

/** The error for a dry run that matches a webhook with side effects. */
export function dryRunUnsupported(webhook: string): StatusError {
  return badRequest(`admission webhook ${JSON.stringify(webhook)} does not support dry run`);
}

/** The client's error for a denial, or for a failed call whose failurePolicy is Fail. */
export function webhookRefusal(
  error: unknown,
  { configuration, hook }: { readonly configuration: string; readonly hook: { readonly name: string } },
  mutating: boolean,
): unknown {
  const part = mutating ? 'mutatingAdmission' : 'validatingAdmission';
  const webhook = { configuration, name: hook.name, mutating };
  if (!(error instanceof CallingWebhookError)) return recordRefusal(error, { part, webhook });
  const failure = error.message;
  return recordRefusal(internalError(failure, error), { part, webhook: { ...webhook, failure } });
}
