/** One step of a pod's start in the component that performs it. */
import { errorMessage } from '../../base/errors.ts';

/** Errors are truncated: a refusal by thousands of nodes is long. */
const MAX_ERROR_LENGTH = 300;

/** A step in progress. Times are monotonic. */
export class RecordedStep {
  readonly name: string;
  readonly startMs: number;
  readonly parent: RecordedStep | undefined;
  detail: string | undefined;
  endMs: number | undefined;
  error: string | undefined;

  constructor(name: string, startMs: number, parent?: RecordedStep) {
    this.name = name;
    this.startMs = startMs;
    this.parent = parent;
  }

  fail(error: unknown): void {
    this.error = errorMessage(error).slice(0, MAX_ERROR_LENGTH);
  }
}
