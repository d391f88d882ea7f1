/**
 * A flow: the requests of one schema at one level with one distinguisher, and the waiting ones. Upstream:
 * flowDistinguisher, request of a queueset.
 */
import type { PolicyRulesWithSubjects } from '../../api/gen/flowcontrol-v1.ts';
import type { ApiHeaders } from '../../api/transport.ts';
import type { RequestSlot } from '../filters/request-slot.ts';
import type { RequestScope } from '../request-scope.ts';
import type { FlowStats } from './flow-stats.ts';
import type { PriorityLevel } from './priority-level.ts';

/** A flow schema in force. */
export interface Flow {
  readonly name: string;
  readonly rules: readonly PolicyRulesWithSubjects[];
  readonly method: string | undefined;
  readonly level: PriorityLevel<Waiting>;
  readonly stats: FlowStats;
  /** Shared by all responses of the flow. */
  readonly headers: ApiHeaders;
}

/** A waiting request. */
export interface Waiting {
  readonly flow: Flow;
  readonly width: number;
  readonly scope: RequestScope;
  readonly distinguisher: string;
  readonly arrivedMs: number;
  admit(seat: RequestSlot): void;
}

export function distinguisherOf({ method }: Flow, { user, info }: RequestScope): string {
  if (method === 'ByUser') return user.name;
  return method === 'ByNamespace' && info.isResourceRequest ? info.namespace : '';
}
