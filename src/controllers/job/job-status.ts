/** The status of a job before and after its pods are counted. Pure. Upstream: syncJob, enactJobFinished. */
import { formatTime } from '../../api/time.ts';
import type { Job, JobCondition, JobStatus } from '../../api/gen/batch-v1.ts';
import { isAllCounted } from './accounting.ts';
import { withJobCondition, type FailureReason, type Verdict } from './verdict.ts';

/** Numbers after this sync's creations and deletions. */
export interface PodNumbers {
  readonly active: number;
  readonly ready: number;
  readonly terminating: number;
}

/** An event for the user. */
export interface JobEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: FailureReason | 'Completed' | 'Resumed' | 'Suspended';
  readonly message: string;
}

/** Numbers, start time and the conditions that need no further step: Suspended and the interim conditions. */
export function interimStatus(
  job: Job,
  input: {
    readonly numbers: PodNumbers;
    readonly verdict: Verdict | undefined;
    readonly managed: boolean;
    readonly nowMs: number;
  },
): { readonly status: JobStatus; readonly events: readonly JobEvent[] } {
  const { numbers, verdict, managed, nowMs } = input;
  const suspended = job.spec?.suspend === true;
  const events: JobEvent[] = [];
  let status: JobStatus = { ...job.status, ...numbers };
  if (status.startTime === undefined && !suspended) status.startTime = formatTime(nowMs);
  const old = status.conditions ?? [];
  let conditions: readonly JobCondition[] = old;
  if (verdict !== undefined) conditions = withJobCondition(old, { ...verdict, status: 'True' }, nowMs);
  else if (managed) {
    const [reason, message] = suspended ? ['JobSuspended', 'Job suspended'] : ['JobResumed', 'Job resumed'];
    conditions = withJobCondition(
      old,
      { type: 'Suspended', status: suspended ? 'True' : 'False', reason, message },
      nowMs,
    );
    if (conditions !== old) {
      events.push({ type: 'Normal', reason: suspended ? 'Suspended' : 'Resumed', message });
      // The deadline counts from the resumption.
      if (!suspended) status = { ...status, startTime: formatTime(nowMs) };
    }
  }
  return { status: conditions.length === 0 ? status : { ...status, conditions: [...conditions] }, events };
}

/** Complete or Failed, once every pod has ended and is counted. */
export function finalStatus(
  status: JobStatus,
  verdict: Verdict | undefined,
  nowMs: number,
): { readonly status: JobStatus; readonly events: readonly JobEvent[] } {
  if (verdict === undefined || !isAllCounted(status) || (status.active ?? 0) > 0 || (status.terminating ?? 0) > 0)
    return { status, events: [] };
  const { reason, message } = verdict;
  const complete = verdict.type === 'SuccessCriteriaMet';
  const conditions = withJobCondition(
    status.conditions ?? [],
    { type: complete ? 'Complete' : 'Failed', status: 'True', reason, message },
    nowMs,
  );
  const event: JobEvent = complete
    ? { type: 'Normal', reason: 'Completed', message: 'Job completed' }
    : { type: 'Warning', reason: reason as FailureReason, message };
  return {
    status: { ...status, conditions: [...conditions], ...(complete ? { completionTime: formatTime(nowMs) } : {}) },
    events: [event],
  };
}
