/** audit.k8s.io/v1 Event. Upstream: audit/request.go. */
import type { UserInfo } from '../../api/gen/authentication-v1.ts';
import type { AuditLevel, AuditStage } from './policy.ts';

/** What a request was about. */
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
  /** The event as it is sent: made once, however often it is tried. */
  encode(event: AuditEvent): Buffer;
  /** Sends what was encoded. Resolves when all is out; rejects when it is lost. */
  send(events: readonly Buffer[]): Promise<void>;
  /** The end is near: what is sent from here on is sent once, and within a limit. */
  finish?(): void;
  /** Ends it; what is being sent may end. */
  stop(): Promise<void>;
}

export interface AuditBackend {
  /** Takes an event; never throws. A promise is to be waited for; it rejects when the request must not go on. */
  write(event: AuditEvent): Promise<void> | undefined;
  /** Resolves when everything taken is out, or has been given up. */
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
