/** Measures how long all plugins of an extension point take together, for one profile. */
import type { Status } from './status.ts';

export interface PointTimer {
  /** What `ended` wants to know later. */
  started(): number;
  /** `point`: upstream's name. Success without a status. */
  ended(point: string, startedMs: number, status?: Status): void;
}
