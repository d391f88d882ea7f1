/** Durations as Go writes them (`1h30m0s`, `100ms`). Upstream: time.Duration, metav1.Duration. */

const UNIT_NANOS: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  '\u00b5s': 1e3,
  '\u03bcs': 1e3,
  ms: 1e6,
  s: 1e9,
  m: 6e10,
  h: 3.6e12,
};
const PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h)/gy;

/** The milliseconds of a duration; undefined for invalid text. Fractions of a millisecond are kept. */
export function parseDurationMs(text: string): number | undefined {
  const negative = text.startsWith('-');
  const body = text.replace(/^[+-]/, '');
  if (body === '0') return 0;
  if (body === '') return undefined;
  PART.lastIndex = 0;
  let nanos = 0;
  let end = 0;
  for (let match = PART.exec(body); match !== null; match = PART.exec(body)) {
    nanos += Number(match[1]) * UNIT_NANOS[match[2]!]!;
    end = PART.lastIndex;
  }
  // Go represents durations as signed 64-bit nanoseconds.
  if (end !== body.length || nanos > 2 ** 63 || (nanos === 2 ** 63 && !negative)) return undefined;
  return (negative ? -nanos : nanos) / 1e6;
}

function trimmed(amount: number): string {
  return String(Number(amount.toFixed(9)));
}

/** The text of a duration as Go's `Duration.String` formats it: `0s`, `1.5s`, `1h0m0s`. */
export function formatDurationMs(durationMs: number): string {
  const sign = durationMs < 0 ? '-' : '';
  const totalMs = Math.abs(durationMs);
  if (totalMs === 0) return '0s';
  if (totalMs < 1e-3) return `${sign}${Math.round(totalMs * 1e6)}ns`;
  if (totalMs < 1) return `${sign}${trimmed(totalMs * 1e3)}\u00b5s`;
  if (totalMs < 1000) return `${sign}${trimmed(totalMs)}ms`;
  const hours = Math.floor(totalMs / 3_600_000);
  const minutes = Math.floor((totalMs % 3_600_000) / 60_000);
  const seconds = `${trimmed((totalMs % 60_000) / 1000)}s`;
  if (hours > 0) return `${sign}${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${sign}${minutes}m${seconds}` : `${sign}${seconds}`;
}
