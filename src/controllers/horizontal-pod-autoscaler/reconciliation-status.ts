/** Writes the status of a reconciled autoscaler, and records failures in events and conditions. */
import { HorizontalPodAutoscalers } from '../../api/gen/resources.ts';
import { ignoreNotFound } from '../../api/status-error.ts';
import type { Client } from '../../client/client.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import { equalStatus } from '../../component-helpers/wire-equality.ts';
import type { ConditionText, ConditionType } from './autoscaler-status.ts';
import { type Reconciliation, setConditionOf } from './reconciliation.ts';

/** Failures that the autoscaler's own spec causes. */
const SPEC_ERRORS = new Set(['InvalidSelector', 'AmbiguousSelector', 'InvalidMetricSourceType']);

/** The texts of a failure's event. */
interface EventText extends ConditionText {
  readonly reason:
    | 'AmbiguousSelector'
    | 'FailedComputeMetricsReplicas'
    | 'FailedGetScale'
    | 'FailedRescale'
    | 'SelectorRequired';
}

/** Texts of a failure: of the condition, and of the event where it differs. */
type Failure = (EventText & { readonly event?: undefined }) | (ConditionText & { readonly event: EventText });

interface StatusDeps {
  readonly client: Client;
  readonly recorder: EventRecorder;
}

/** Records a failed reconciliation in an event and a condition. The next period retries it. */
export async function recordFailure(
  deps: StatusDeps,
  reconciliation: Reconciliation,
  type: ConditionType,
  failure: Failure,
): Promise<void> {
  const { reason, message } = failure;
  const event = failure.event === undefined ? failure : failure.event;
  reconciliation.result.error = SPEC_ERRORS.has(reason) ? 'spec' : 'internal';
  deps.recorder.event(reconciliation.hpa, 'Warning', event.reason, event.message);
  setConditionOf(reconciliation, type, { status: false, reason, message });
  await updateStatus(deps, reconciliation);
}

export async function updateStatus({ client }: StatusDeps, { hpa, draft, signal }: Reconciliation): Promise<void> {
  if (equalStatus(draft, hpa.status)) return;
  await client
    .resource(HorizontalPodAutoscalers)
    .updateStatus({ ...hpa, status: draft }, { signal })
    .catch(ignoreNotFound);
}
