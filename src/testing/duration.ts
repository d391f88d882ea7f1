/** Durations in a test's notation. */
import { durationMs } from '../cri/sim/sim-image.ts';

/** Milliseconds, or a text such as `5m`, `1h30m` or `30d`. */
export type Duration = number | string;

const DAY_MS = 86_400_000;

/** The milliseconds of a duration. Throws for invalid text. */
export function spanMs(duration: Duration): number {
  if (typeof duration === 'number') return duration;
  const [, days, rest = ''] = /^(?:(\d+(?:\.\d+)?)d)?(.*)$/s.exec(duration) ?? [];
  if (days === undefined) return durationMs(duration);
  return Number(days) * DAY_MS + (rest === '' ? 0 : durationMs(rest));
}

/** Formats milliseconds: `1h2m3.5s`. */
export function formatSpan(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)}ms`;
  const hours = Math.floor(ms / 3_600_000);
  const minutes = Math.floor((ms % 3_600_000) / 60_000);
  const seconds = Math.round((ms % 60_000) / 10) / 100;
  return `${hours > 0 ? `${hours}h` : ''}${hours > 0 || minutes > 0 ? `${minutes}m` : ''}${seconds}s`;
}

/** The milliseconds of a duration that may be negative. */
export function signedMs(by: Duration): number {
  return typeof by === 'string' && by.startsWith('-') ? -spanMs(by.slice(1)) : spanMs(by);
}
