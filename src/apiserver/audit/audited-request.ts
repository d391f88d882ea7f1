/**
 * One audited request: collects what its level requires and creates an event at each stage. Objects are copied when
 * they are seen, since drafts change afterwards. Upstream: audit.AuditContext and endpoints/filters.WithAudit.
 */
import { parseJson } from '../../api/codec/json.ts';
import { isObject, type JsonObject } from '../../api/codec/own-property.ts';
import { decodeProtobuf } from '../../api/codec/protobuf.ts';
import { formatMicroTime } from '../../api/time.ts';
import type { ApiResponse, Principal } from '../../api/transport.ts';
import type { Clock } from '../../platform/clock.ts';
import { userInfoOf } from '../authn/user-info.ts';
import type { RequestRecorder, RequestScope } from '../request-scope.ts';
import { recordedUri } from '../request-uri.ts';
import type { AuditBackend, AuditEvent, ObjectReference } from './event.ts';
import type { AuditDecision, AuditStage } from './policy.ts';

export interface AuditedRequestDeps {
  readonly clock: Clock;
  readonly backends: readonly AuditBackend[];
}

/** A request while it is recorded. */
export class AuditedRequest implements RequestRecorder {
  readonly auditId: string;
  readonly #deps: AuditedRequestDeps;
  readonly #decision: AuditDecision;
  readonly #scope: RequestScope;
  /** Before impersonation. */
  readonly #user: Principal;
  readonly #received: string;
  readonly #reference: ObjectReference | undefined;
  #impersonated: Principal | undefined;
  #impersonationConstraint: string | undefined;
  #annotations: ReadonlyMap<string, string> | undefined;
  #requestObject: unknown;
  #responseObject: unknown;
  #status: JsonObject | undefined;
  #written: Promise<unknown> | undefined;

  constructor(deps: AuditedRequestDeps, parts: { scope: RequestScope; decision: AuditDecision; auditId: string }) {
    this.#deps = deps;
    this.#decision = parts.decision;
    this.#scope = parts.scope;
    this.#user = parts.scope.user;
    this.auditId = parts.auditId;
    this.#received = formatMicroTime(deps.clock.nowMs());
    this.#reference = referenceOf(parts.scope);
  }

  /** The request continues as an impersonated user. */
  impersonates(user: Principal, constraint?: string): void {
    this.#impersonated = user;
    this.#impersonationConstraint = constraint;
  }

  /** Takes the decoded body, or the patch. */
  takeRequestObject(value: unknown): void {
    const { level } = this.#decision;
    if (isObject(value)) this.#refer(value);
    if (level !== 'Request' && level !== 'RequestResponse') return;
    this.#requestObject = this.#copy(value);
  }

  /** Reads the name of a create without a name in its path from the body. */
  #refer(value: JsonObject): void {
    const reference = this.#reference;
    const { metadata } = value;
    if (reference === undefined || !isObject(metadata)) return;
    for (const key of ['name', 'namespace', 'uid', 'resourceVersion'] as const) {
      const text = metadata[key];
      if (reference[key] === undefined && typeof text === 'string' && text !== '') reference[key] = text;
    }
  }

  #copy(value: unknown): unknown {
    const copy = structuredClone(value);
    if (this.#decision.omitManagedFields) stripManagedFields(copy);
    return copy;
  }

  /** Takes the response's head. */
  takeResponse(response: ApiResponse, annotations: ReadonlyMap<string, string> | undefined): void {
    this.#annotations = annotations;
    if (response.kind === 'upgrade') {
      this.#status = { metadata: {}, code: 101 };
      return;
    }
    const object = bodyOf(response);
    this.#status = statusOf(response.status, object);
    if (this.#decision.level === 'RequestResponse' && object !== undefined) this.#responseObject = this.#copy(object);
  }

  /** Creates the event of a stage, unless the policy omits it. */
  stage(stage: AuditStage): void {
    if (this.#decision.omitStages.includes(stage)) return;
    const event = this.#event(stage);
    for (const backend of this.#deps.backends) {
      const written = backend.write(event);
      if (written === undefined) continue;
      const all = Promise.all([this.#written, written]);
      all.catch(() => undefined); // every waiter gets the error itself
      this.#written = all;
    }
  }

  /** The writes since the last call, if the request has to wait for them. */
  written(): Promise<unknown> | undefined {
    const written = this.#written;
    this.#written = undefined;
    return written;
  }

  #event(stage: AuditStage): AuditEvent {
    const user = this.#user;
    const { request, info, userAgent } = this.#scope;
    const { level } = this.#decision;
    const annotations = this.#annotationsFor(stage);
    return {
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level,
      auditID: this.auditId,
      stage,
      requestURI: recordedUri(request),
      verb: info.verb,
      user: userInfoOf(user),
      impersonatedUser: this.#impersonated && userInfoOf(this.#impersonated),
      authenticationMetadata:
        this.#impersonationConstraint === undefined
          ? undefined
          : { impersonationConstraint: this.#impersonationConstraint },
      sourceIPs: request.remoteAddress === '' ? undefined : sourceIps(request),
      userAgent: userAgent === '' ? undefined : userAgent,
      objectRef: this.#reference && { ...this.#reference },
      responseStatus: this.#status,
      requestObject: this.#requestObject,
      responseObject: this.#responseObject,
      requestReceivedTimestamp: this.#received,
      stageTimestamp: formatMicroTime(this.#deps.clock.nowMs()),
      annotations,
    };
  }

  /** Patches of webhooks belong to the request's body and are recorded at its levels only. */
  #annotationsFor(stage: AuditStage): Record<string, string> | undefined {
    if (stage === 'RequestReceived' || this.#annotations === undefined || this.#annotations.size === 0)
      return undefined;
    const bare = this.#decision.level === 'Metadata';
    const recorded = [...this.#annotations].filter(([key]) => !bare || !key.startsWith('patch.webhook.'));
    return Object.fromEntries(recorded);
  }
}

function sourceIps({ headers, remoteAddress }: RequestScope['request']): string[] {
  const forwarded = (headers['x-forwarded-for'] ?? '')
    .split(',')
    .map((ip) => ip.trim())
    .filter((ip) => ip !== '');
  return [...forwarded.filter((ip) => ip !== remoteAddress), remoteAddress];
}

function referenceOf({ info }: RequestScope): ObjectReference | undefined {
  if (!info.isResourceRequest) return undefined;
  const all = {
    resource: info.resource,
    namespace: info.namespace,
    name: info.name,
    apiGroup: info.apiGroup,
    apiVersion: info.apiVersion,
    subresource: info.subresource,
  };
  return Object.fromEntries(Object.entries(all).filter(([, text]) => text !== ''));
}

function bodyOf(response: Exclude<ApiResponse, { kind: 'upgrade' }>): unknown {
  if (response.kind === 'object') return response.object;
  if (response.kind !== 'bytes') return undefined;
  const type = String(response.headers['content-type'] ?? '');
  const bytes = Buffer.concat(response.chunks);
  if (type.startsWith('application/json')) return parseJson(bytes.toString('utf8')).value;
  return type === 'application/vnd.kubernetes.protobuf' ? decodeProtobuf(bytes) : undefined;
}

/** As upstream: a Status is recorded without its details' causes, any other object by its code. */
function statusOf(code: number, object: unknown): JsonObject {
  if (!isObject(object) || object['kind'] !== 'Status') return { metadata: {}, code };
  const { status, message, reason, details } = object;
  return JSON.parse(JSON.stringify({ metadata: {}, status, message, reason, details, code })) as JsonObject;
}

function stripManagedFields(value: unknown): void {
  if (!isObject(value)) return;
  if (isObject(value['metadata'])) delete value['metadata']['managedFields'];
  if (Array.isArray(value['items'])) for (const item of value['items'] as unknown[]) stripManagedFields(item);
}
