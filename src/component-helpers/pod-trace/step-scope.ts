/**
 * Passed down through the work on a pod: records when each part began and ended, in the record of the pod's start and
 * as spans of a trace. Without both it only calls the work.
 */
import type { Span } from '../../platform/tracing.ts';
import type { RecordedStep } from './recorded-step.ts';
import type { StepRecord } from './step-records.ts';

export interface StepScope {
  /** Passed to calls of other processes; undefined: not traced. */
  readonly span: Span | undefined;
  /** Runs the work as a child step. The scope it gets is for further children. */
  step<T>(name: string, work: (scope: StepScope) => Promise<T>, detail?: string): Promise<T>;
  /**
   * Adds a child step with times from another process, in wall-clock milliseconds. That process records the span
   * itself.
   */
  add(name: string, times: { readonly startMs: number; readonly endMs: number }): void;
}

/** Records nothing. */
export const noSteps: StepScope = {
  span: undefined,
  step: (_name, work) => work(noSteps),
  add: () => undefined,
};

export interface StepSinks {
  readonly record: StepRecord | undefined;
  readonly span?: Span | undefined;
}

/** Runs the work of a step that has begun and has this span. */
export async function runStep<T>(
  sinks: StepSinks,
  step: RecordedStep | undefined,
  work: (scope: StepScope) => Promise<T>,
): Promise<T> {
  const { record, span } = sinks;
  try {
    const result = await work(stepScope(sinks, step));
    span?.end();
    return result;
  } catch (error) {
    step?.fail(error);
    span?.end(error);
    throw error;
  } finally {
    if (step !== undefined) record?.end(step);
  }
}

export function stepScope({ record, span }: StepSinks, parent?: RecordedStep): StepScope {
  if (record === undefined && span === undefined) return noSteps;
  return {
    span,
    step(name, work, detail) {
      const step = record?.start(name, { parent });
      if (step !== undefined) step.detail = detail;
      return runStep({ record, span: span?.child(name, { attributes: { detail } }) }, step, work);
    },
    add: (name, times) => record?.add(name, { ...times, parent }),
  };
}
