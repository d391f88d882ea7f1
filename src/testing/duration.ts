/** Spans of time as a test writes them. */
import { durationMs } from '../cri/sim/sim-image.ts';

/** Milliseconds, or a text such as `5m`, `1h30m` or `30d`. */
export type Duration = number | string;

const DAY_MS = 86_400_000;

/** Milliseconds of a span. Throws on an invalid text. */
export function spanMs(duration: Duration): number {
  if (typeof duration === 'number') return duration;
  const [, days, rest = ''] = /^(?:(\d+(?:\.\d+)?)d)?(.*)$/s.exec(duration) ?? [];
  if (days === undefined) return durationMs(duration);
  return Number(days) * DAY_MS + (rest === '' ? 0 : durationMs(rest));
}

/** Milliseconds as text, e.g. `1h2m3.5s`. */
export function formatSpan(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)}ms`;
  const hours = Math.floor(ms / 3_600_000);
  const minutes = Math.floor((ms % 3_600_000) / 60_000);
  const seconds = Math.round((ms % 60_000) / 10) / 100;
  return `${hours > 0 ? `${hours}h` : ''}${hours > 0 || minutes > 0 ? `${minutes}m` : ''}${seconds}s`;
}

/** Milliseconds of a span that may begin with a minus. */
export function signedMs(by: Duration): number {
  return typeof by === 'string' && by.startsWith('-') ? -spanMs(by.slice(1)) : spanMs(by);
}
