/** Durations as Go writes them: `1h30m`, `1.5s`, `100ms`. */

const UNITS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** Milliseconds; undefined when the text is no duration. */
export function parseGoDuration(text: string): number | undefined {
  if (text === '0') return 0;
  const match = /^(-?)((?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+)$/.exec(text);
  if (match === null) return undefined;
  let ms = 0;
  for (const [, amount, unit] of (match[2] ?? '').matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g))
    ms += Number(amount) * (UNITS[unit ?? ''] ?? 0);
  return match[1] === '-' ? -ms : ms;
}
