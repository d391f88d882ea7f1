/** audit.k8s.io/v1 Event. Upstream: audit/request.go. */
import type { UserInfo } from '../../api/gen/authentication-v1.ts';
import type { AuditLevel, AuditStage } from './policy.ts';

/** The object of a request. */
export interface ObjectReference {
  resource?: string;
  namespace?: string;
  name?: string;
  uid?: string;
  apiGroup?: string;
  apiVersion?: string;
  resourceVersion?: string;
  subresource?: string;
}

/** One event: a request at a stage. */
export interface AuditEvent {
  readonly kind: 'Event';
  readonly apiVersion: 'audit.k8s.io/v1';
  readonly level: AuditLevel;
  readonly auditID: string;
  readonly stage: AuditStage;
  readonly requestURI: string;
  readonly verb: string;
  readonly user: UserInfo;
  readonly impersonatedUser?: UserInfo;
  readonly authenticationMetadata?: { readonly impersonationConstraint: string };
  readonly sourceIPs?: readonly string[];
  readonly userAgent?: string;
  readonly objectRef?: ObjectReference;
  readonly responseStatus?: object;
  readonly requestObject?: unknown;
  readonly responseObject?: unknown;
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface AuditSink {
  /** Encodes the event; called once, however often sending is tried. */
  encode(event: AuditEvent): Buffer;
  /** Sends encoded events. Resolves when all are written; rejects when they are lost. */
  send(events: readonly Buffer[]): Promise<void>;
  /** The shutdown begins: from now on events are sent once, within a time limit. */
  finish?(): void;
  /** Ends the log; a send in progress may finish. */
  stop(): Promise<void>;
}

export interface AuditBackend {
  /**
   * Accepts an event; never throws. A returned promise must be awaited; it rejects when the request must be refused.
   */
  write(event: AuditEvent): Promise<void> | undefined;
  /** Resolves when every accepted event was written or dropped. */
  stop(): Promise<void>;
}

/** A line of the older log format. */
export function legacyLine(event: AuditEvent): string {
  const { user, impersonatedUser, objectRef, sourceIPs = [] } = event;
  const groups = (list: readonly string[] | undefined): string =>
    list === undefined || list.length === 0 ? '"<none>"' : list.map((group) => JSON.stringify(group)).join(',');
  const as = impersonatedUser === undefined ? '<self>' : (impersonatedUser.username ?? '');
  const asGroups = impersonatedUser === undefined ? '"<lookup>"' : groups(impersonatedUser.groups);
  const response = String((event.responseStatus as { code?: number } | undefined)?.code ?? '<deferred>');
  const parts: readonly [string, string][] = [
    ['id', JSON.stringify(event.auditID)],
    ['stage', JSON.stringify(event.stage)],
    ['ip', JSON.stringify(sourceIPs[0] ?? '<unknown>')],
    ['method', JSON.stringify(event.verb)],
    ['user', JSON.stringify(user.username ?? '<none>')],
    ['groups', groups(user.groups)],
    ['as', JSON.stringify(as)],
    ['asgroups', asGroups],
    ['user-agent', JSON.stringify(event.userAgent ?? '')],
    ['namespace', JSON.stringify(objectRef?.namespace ?? '<none>')],
    ['uri', JSON.stringify(event.requestURI)],
    ['response', JSON.stringify(response)],
  ];
  return `${event.requestReceivedTimestamp} AUDIT: ${parts.map(([key, value]) => `${key}=${value}`).join(' ')}`;
}
