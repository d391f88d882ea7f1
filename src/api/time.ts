/**
 * API times: RFC 3339 texts with second precision (Time) or microseconds (MicroTime), always UTC. Only this file and
 * platform/node create `Date`s, and only from numbers that callers pass. Upstream: metav1.Time, metav1.MicroTime.
 */

/**
 * A Time from wall-clock milliseconds: `2026-01-02T03:04:05Z`. All calls within a second return the same string object, which
 * saves memory.
 */
export function formatTime(wallMs: number): string {
  const text = secondText(wallMs);
  if (last.time === '') last.time = `${text}Z`;
  return last.time;
}

const DAY_MS = 86_400_000;
const lastDay = { day: Number.NaN, text: '' };
const last = { second: Number.NaN, text: '', time: '' };

/** The texts `00` to `59`. */
const twoDigits = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'));

/** `2026-01-02T03:04:05`. The text of the last second is cached, because many objects are stamped at one time. */
function secondText(wallMs: number): string {
  const second = Math.floor(wallMs / 1000);
  if (second !== last.second) {
    last.text = `${dayText(wallMs)}${timeOfDay(second)}`;
    last.second = second;
    last.time = '';
  }
  return last.text;
}

/** `2026-01-02T`, computed once a day. Throws RangeError for an invalid time. */
function dayText(wallMs: number): string {
  const day = Math.floor(wallMs / DAY_MS);
  if (day !== lastDay.day) {
    lastDay.text = new Date(wallMs).toISOString().slice(0, -13);
    lastDay.day = day;
  }
  return lastDay.text;
}

/** A time of day: `03:04:05`. */
function timeOfDay(second: number): string {
  const minute = Math.floor(second / 60);
  const hour = Math.floor(minute / 60);
  const hourOfDay = hour - Math.floor(hour / 24) * 24;
  return `${twoDigits[hourOfDay]!}:${twoDigits[minute - hour * 60]!}:${twoDigits[second - minute * 60]!}`;
}

/** A MicroTime from wall-clock milliseconds, whose fractions are microseconds: `2026-01-02T03:04:05.000006Z`. */
export function formatMicroTime(wallMs: number): string {
  const wholeMs = Math.floor(wallMs);
  const micros = Math.floor((wallMs - wholeMs) * 1000);
  const ms = wholeMs - Math.floor(wholeMs / 1000) * 1000;
  return `${secondText(wholeMs)}.${String(ms).padStart(3, '0')}${String(micros).padStart(3, '0')}Z`;
}

/** A `Date` for libraries that require one (certificates, tokens). */
export function dateOf(wallMs: number): Date {
  return new Date(wallMs);
}

/** Milliseconds since 1970 of an RFC 3339 text; NaN when it is invalid. */
export function parseTime(text: string | undefined): number {
  return text === undefined ? Number.NaN : Date.parse(text);
}
