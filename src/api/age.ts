/** Durations for people: `5s`, `3m20s`, `2d4h`. Upstream: apimachinery/pkg/util/duration. */
import { parseTime } from './time.ts';

function pair(major: number, minor: number, units: string): string {
  return minor === 0 ? `${major}${units[0]}` : `${major}${units[0]}${minor}${units[1]}`;
}

/** A duration with about two significant digits; finer near zero. */
export function humanDuration(durationMs: number): string {
  const seconds = Math.trunc(durationMs / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return pair(minutes, seconds % 60, 'ms');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return pair(hours, minutes % 60, 'hm');
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (hours < 192) return pair(days, hours % 24, 'dh');
  if (days < 730) return `${days}d`;
  const years = Math.floor(days / 365);
  return days < 2920 ? pair(years, days % 365, 'yd') : `${years}y`;
}

/** The value of the age column: the time since an RFC 3339 time, `<unknown>` without one. */
export function ageOf(time: string | undefined, nowMs: number): string {
  const then = parseTime(time);
  return Number.isNaN(then) ? '<unknown>' : humanDuration(nowMs - then);
}
