/**
 * Decides for each request whether it is audited, and follows audited ones to their end. Upstream:
 * endpoints/filters.WithAudit.
 */
import type { ApiResponse } from '../../api/transport.ts';
import type { ByteSink } from '../../platform/streams.ts';
import type { Random } from '../../platform/random.ts';
import type { RequestRecorder, RequestScope } from '../request-scope.ts';
import { AuditedRequest, type AuditedRequestDeps } from './audited-request.ts';
import { type AuditPolicy, decideAudit } from './policy.ts';

export interface AuditorDeps extends AuditedRequestDeps {
  readonly policy: AuditPolicy;
  /** For audit IDs. */
  readonly random: Random;
}

export interface Auditor {
  /** Called when the request's user is known. Undefined: not audited. */
  begin(scope: RequestScope): RequestRecorder | undefined;
  /** Called when the response's head is known. Returns the response to send instead, which reports its end. */
  answer(scope: RequestScope, response: ApiResponse): ApiResponse;
  /** Resolves when every event is written. */
  stop(): Promise<void>;
}

export function createAuditor(deps: AuditorDeps): Auditor {
  return {
    begin(scope) {
      const decision = decideAudit(deps.policy, scope);
      if (decision.level === 'None') return undefined;
      const auditId = scope.request.headers['audit-id'] ?? deps.random.uuid();
      const audited = new AuditedRequest(deps, { scope, decision, auditId });
      audited.stage('RequestReceived');
      return audited;
    },
    answer(scope, response) {
      const { audited } = scope;
      return audited instanceof AuditedRequest ? withAuditedResponse(audited, scope, response) : response;
    },
    async stop() {
      await Promise.all(deps.backends.map((backend) => backend.stop()));
    },
  };
}

function withAuditedResponse(audited: AuditedRequest, scope: RequestScope, response: ApiResponse): ApiResponse {
  audited.takeResponse(response, scope.auditAnnotations);
  if (response.kind === 'upgrade') {
    audited.stage('ResponseStarted');
    return {
      kind: 'upgrade',
      accept: (socket) => response.accept(socket).finally(() => audited.stage('ResponseComplete')),
      dispose() {
        response.dispose?.();
        audited.stage('ResponseComplete');
      },
    };
  }
  const headers = { ...response.headers, 'audit-id': audited.auditId };
  if (response.kind === 'stream') {
    audited.stage('ResponseStarted');
    const run = (sink: ByteSink): Promise<void> => response.run(sink).finally(() => audited.stage('ResponseComplete'));
    return { ...response, headers, run };
  }
  if (response.kind === 'watch') {
    audited.stage('ResponseStarted');
    return { ...response, headers, events: untilEnd(response.events, () => audited.stage('ResponseComplete')) };
  }
  audited.stage('ResponseComplete');
  return { ...response, headers };
}

async function* untilEnd<T>(events: AsyncIterable<T>, onEnd: () => void): AsyncGenerator<T> {
  try {
    yield* events;
  } finally {
    onEnd();
  }
}
