/** The record of a refused request: texts of bounded length, and no body. Pure. */
import { clipText } from '../../base/clip-text.ts';
import { roundToMicroseconds } from '../../base/round-to-microseconds.ts';
import type { Status } from '../../api/gen/meta-v1.ts';
import { formatTime } from '../../api/time.ts';
import {
  REFUSING_PARTS,
  type PassedPart,
  type RefusedRequest,
  type RequestedResource,
  type RefusingWebhook,
} from '../../component-helpers/refused-request.ts';
import type { RequestInfo } from '../request-context.ts';
import type { RequestScope } from '../request-scope.ts';
import type { RefusalSource } from './refusal-source.ts';

const MAX_CHARS = 1024;
/** Requests of users with longer names are not remembered. */
export const MAX_NAME_CHARS = 320;
const MAX_GROUPS = 32;
const MAX_WAITS = 32;

export interface Refusal {
  readonly scope: RequestScope;
  readonly status: Status;
  readonly source: Partial<RefusalSource> | undefined;
  readonly id: string;
}

/** @param times the wall clock and the monotonic clock at the refusal */
export function refusedRequestOf(
  { scope, status, source, id }: Refusal,
  times: { readonly nowMs: number; readonly endMs: number },
): RefusedRequest {
  const { user, info, receivedMs } = scope;
  const { ownerUid: _, part = partOf(status), reason, webhook, ...rest } = source ?? {};
  const { message = '' } = status;
  return {
    apiVersion: 'keelson/v1',
    kind: 'RefusedRequest',
    id: clipText(id, MAX_NAME_CHARS),
    time: formatTime(times.nowMs),
    user: user.name,
    groups: user.groups.slice(0, MAX_GROUPS).map((group) => clipText(group, MAX_NAME_CHARS)),
    verb: info.verb,
    path: clipText(info.path, MAX_CHARS),
    resource: info.isResourceRequest ? resourceOf(info) : undefined,
    code: status.code ?? 500,
    reason: status.reason ?? '',
    message: clipText(message, MAX_CHARS),
    refusedBy: {
      part,
      ...rest,
      reason: reason === undefined ? undefined : clipText(reason, MAX_CHARS),
      webhook: webhook === undefined ? undefined : withClippedFailure(webhook),
    },
    passed: passedBefore(part, scope),
    milliseconds: roundToMicroseconds(times.endMs - receivedMs),
  };
}

function withClippedFailure(webhook: RefusingWebhook): RefusingWebhook {
  return webhook.failure === undefined ? webhook : { ...webhook, failure: clipText(webhook.failure, MAX_CHARS) };
}

function resourceOf(info: RequestInfo): RequestedResource {
  const clip = (text: string): string => clipText(text, MAX_NAME_CHARS);
  return {
    group: clip(info.apiGroup),
    version: clip(info.apiVersion),
    resource: clip(info.resource),
    subresource: clip(info.subresource),
    namespace: clip(info.namespace),
    name: clip(info.name),
  };
}

/** The part that usually responds with this status, where none was recorded. */
function partOf({ code }: Status): RefusalSource['part'] {
  switch (code) {
    case 401:
      return 'authentication';
    case 422:
      return 'validation';
    case 400:
    case 406:
    case 413:
    case 415:
      return 'decoding';
    default:
      return 'handler';
  }
}

const READ_VERBS: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'head', 'options']);
/** Parts that only requests with bodies pass. */
const OF_WRITES: ReadonlySet<string> = new Set(['decoding', 'mutatingAdmission', 'validation', 'validatingAdmission']);

function passedBefore(part: RefusalSource['part'], scope: RequestScope): readonly PassedPart[] {
  const waits = (scope.waits ?? []).slice(0, MAX_WAITS);
  const waited = new Map(waits.map(({ name, milliseconds }) => [name, roundToMicroseconds(milliseconds)]));
  waited.set('flowControl', roundToMicroseconds(scope.waitedMs));
  const end = part === 'timeout' ? REFUSING_PARTS.indexOf('decoding') : REFUSING_PARTS.indexOf(part);
  const parts = REFUSING_PARTS.slice(0, end).filter(
    (name) =>
      (name !== 'impersonation' || waited.has(name)) && !(READ_VERBS.has(scope.info.verb) && OF_WRITES.has(name)),
  );
  const named = new Set<string>(parts);
  const plugins = waits.filter(({ name }) => !named.has(name) && name !== part);
  return [
    ...parts.map((name) => ({ name, milliseconds: waited.get(name) ?? 0 })),
    ...plugins.map(({ name, milliseconds }) => ({ name, milliseconds: roundToMicroseconds(milliseconds) })),
  ];
}
