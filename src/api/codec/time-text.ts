// Converts RFC 3339 text to seconds and nanoseconds since 1970 and back, by arithmetic alone (proleptic Gregorian calendar).
// Upstream: metav1.Time (whole seconds) and metav1.MicroTime (six digits), both written in UTC.

/** A moment; `nanos` is 0 to 999,999,999. */
export interface Moment {
  seconds: number;
  nanos: number;
}

const SHAPE = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9})\d*)?(?:Z|([+-])(\d\d):(\d\d))$/;
const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** The number of days from 1970-01-01 to a date of the calendar. */
function daysFromCivil(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  return (
    era * 146_097 + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear - 719_468
  );
}

function civilFromDays(days: number): [number, number, number] {
  const z = days + 719_468;
  const era = Math.floor(z / 146_097);
  const dayOfEra = z - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const mp = Math.floor((5 * dayOfYear + 2) / 153);
  const month = mp < 10 ? mp + 3 : mp - 9;
  return [yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - Math.floor((153 * mp + 2) / 5) + 1];
}

function leap(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

/** Parses RFC 3339 text; undefined when it is invalid or its date does not exist. */
export function parseMoment(text: string): Moment | undefined {
  const m = SHAPE.exec(text);
  if (m === null) return undefined;
  const [year, month, day] = [Number(m[1]), Number(m[2]), Number(m[3])];
  const [hour, minute, second] = [Number(m[4]), Number(m[5]), Number(m[6])];
  const days = month === 2 && leap(year) ? 29 : (MONTH_DAYS[month - 1] ?? 0);
  const [zoneHour, zoneMinute] = [Number(m[9] ?? 0), Number(m[10] ?? 0)];
  if (day < 1 || day > days || hour > 23 || minute > 59 || second > 59 || zoneHour > 23 || zoneMinute > 59)
    return undefined;
  const offset = (zoneHour * 60 + zoneMinute) * 60 * (m[8] === '-' ? -1 : 1);
  const seconds = daysFromCivil(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset;
  return { seconds, nanos: m[7] === undefined ? 0 : Number(m[7].padEnd(9, '0')) };
}

const pad = (n: number, width: number): string => String(n).padStart(width, '0');

/** UTC text with this many digits of fraction, truncated: 0 for Time, 6 for MicroTime. */
export function formatMoment({ seconds, nanos }: Moment, digits: 0 | 6): string {
  const days = Math.floor(seconds / 86_400);
  const rest = seconds - days * 86_400;
  const [year, month, day] = civilFromDays(days);
  const clock = `${pad(Math.floor(rest / 3600), 2)}:${pad(Math.floor(rest / 60) % 60, 2)}:${pad(rest % 60, 2)}`;
  const fraction = digits === 0 ? '' : `.${pad(Math.floor(nanos / 1000), 6)}`;
  return `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}T${clock}${fraction}Z`;
}
