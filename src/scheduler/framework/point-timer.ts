/** Measures the duration of an extension point with all its plugins, for one profile. */
import type { Status } from './status.ts';

export interface PointTimer {
  /** The start time, to be passed to `ended`. */
  started(): number;
  /** `point`: upstream's name. No status means success. */
  ended(point: string, startedMs: number, status?: Status): void;
}
