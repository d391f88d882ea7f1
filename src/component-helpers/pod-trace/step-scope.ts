/**
 * Passed down through the work on a pod: takes down when each part of it began and ended. Where nothing is recorded it only
 * calls the work.
 */
import type { RecordedStep, StepRecord } from './step-records.ts';

export interface StepScope {
  /** Runs the work as a step below this one. The scope that it gets is for steps within. */
  step<T>(name: string, work: (scope: StepScope) => Promise<T>, detail?: string): Promise<T>;
  /** Adds a step below this one whose times another process told, in wall-clock milliseconds. */
  add(name: string, times: { readonly startMs: number; readonly endMs: number }): void;
}

/** Nothing is recorded. */
export const noSteps: StepScope = {
  step: (_name, work) => work(noSteps),
  add: () => undefined,
};

/** Steps go to the record, below `parent`. */
export function recordedScope(record: StepRecord, parent?: RecordedStep): StepScope {
  return {
    async step(name, work, detail) {
      const step = record.start(name, { parent });
      step.detail = detail;
      try {
        return await work(recordedScope(record, step));
      } catch (error) {
        step.fail(error);
        throw error;
      } finally {
        record.end(step);
      }
    },
    add: (name, times) => record.add(name, { ...times, parent }),
  };
}
