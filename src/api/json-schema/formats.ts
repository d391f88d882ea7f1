/**
 * The string formats that schemas of custom resources may require. Formats that are not listed are not checked. Upstream:
 * kube-openapi/pkg/validation/strfmt.
 */
import { isDns1123Subdomain } from '../names.ts';
import { isCidr, isIp } from '../value-formats.ts';

const HOSTNAME =
  /^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$/u;
const UUID = /^[0-9A-F]{8}-?[0-9A-F]{4}-?[0-9A-F]{4}-?[0-9A-F]{4}-?[0-9A-F]{12}$/i;
const UUID3 = /^[0-9A-F]{8}-?[0-9A-F]{4}-?3[0-9A-F]{3}-?[0-9A-F]{4}-?[0-9A-F]{12}$/i;
const UUID4 = /^[0-9A-F]{8}-?[0-9A-F]{4}-?4[0-9A-F]{3}-?[89AB][0-9A-F]{3}-?[0-9A-F]{12}$/i;
const UUID5 = /^[0-9A-F]{8}-?[0-9A-F]{4}-?5[0-9A-F]{3}-?[89AB][0-9A-F]{3}-?[0-9A-F]{12}$/i;
const DATE_TIME =
  /^(\d{4})-(0[1-9]|1[012])-(0[1-9]|[12]\d|3[01])[Tt ]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/;
const DATE = /^(\d{4})-(0[1-9]|1[012])-(0[1-9]|[12]\d|3[01])$/;
const MAC = /^([0-9A-Fa-f]{2}([:-]))(?:[0-9A-Fa-f]{2}\2){4}(?:[0-9A-Fa-f]{2})(?:(?:\2[0-9A-Fa-f]{2}){2})?$/;
const EMAIL = /^[^\s@"(),:;<>[\\\]]+@[^\s@]+$/;
const GO_DURATION =
  /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h)(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))*$/;
const WORDY_DURATION =
  /^\s*(?:\d+\s*(?:ns|nano(?:second)?s?|us|µs|micro(?:second)?s?|ms|milli(?:second)?s?|s|sec(?:ond)?s?|m|min(?:ute)?s?|h|hr|hours?|d|days?|w|wk|weeks?)\s*)+$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const DAYS_OF_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Whether the first three groups of a match are year, month and day of a date that exists. */
function isDay([, y = '', m = '', d = '']: RegExpExecArray): boolean {
  const [year, month, day] = [Number(y), Number(m), Number(d)];
  const leap = month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return day <= DAYS_OF_MONTH[month - 1]! + (leap ? 1 : 0);
}

function calendar(pattern: RegExp): (text: string) => boolean {
  return (text) => {
    const match = pattern.exec(text);
    return match !== null && isDay(match);
  };
}

function matching(pattern: RegExp): (text: string) => boolean {
  return (text) => pattern.test(text);
}

/** Whether the check digit of a payment card is right. */
function isLuhn(text: string): boolean {
  const digits = text.replaceAll(/[ -]/g, '');
  if (!/^\d{13,19}$/.test(digits)) return false;
  let sum = 0;
  for (let at = digits.length - 1, double = false; at >= 0; at--, double = !double) {
    const digit = Number(digits[at]);
    sum += double ? (digit > 4 ? digit * 2 - 9 : digit * 2) : digit;
  }
  return sum % 10 === 0;
}

function isIsbn10(text: string): boolean {
  const digits = text.replaceAll(/[\s-]/g, '');
  if (!/^\d{9}[\dX]$/.test(digits)) return false;
  let sum = 0;
  for (let at = 0; at < 10; at++) sum += (at + 1) * (digits[at] === 'X' ? 10 : Number(digits[at]));
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = text.replaceAll(/[\s-]/g, '');
  if (!/^\d{13}$/.test(digits)) return false;
  let sum = 0;
  for (let at = 0; at < 13; at++) sum += Number(digits[at]) * (at % 2 === 0 ? 1 : 3);
  return sum % 10 === 0;
}

function isUri(text: string): boolean {
  return text.startsWith('/') ? !/\s/.test(text) : URL.canParse(text);
}

const LABEL_MAX = 63;

const checks: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ['bsonobjectid', matching(/^[0-9a-f]{24}$/i)],
  ['uri', isUri],
  ['email', matching(EMAIL)],
  ['hostname', (text) => text.length <= 255 && HOSTNAME.test(text)],
  ['ipv4', (text) => !text.includes(':') && isIp(text).length === 0],
  ['ipv6', (text) => text.includes(':') && isIp(text).length === 0],
  ['cidr', (text) => isCidr(text).length === 0],
  ['mac', matching(MAC)],
  ['uuid', matching(UUID)],
  ['uuid3', matching(UUID3)],
  ['uuid4', matching(UUID4)],
  ['uuid5', matching(UUID5)],
  ['isbn', (text) => isIsbn10(text) || isIsbn13(text)],
  ['isbn10', isIsbn10],
  ['isbn13', isIsbn13],
  ['creditcard', isLuhn],
  ['ssn', matching(/^\d{3}[- ]?\d{2}[- ]?\d{4}$/)],
  ['hexcolor', matching(/^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/)],
  [
    'rgbcolor',
    matching(
      /^rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)$/,
    ),
  ],
  ['byte', matching(BASE64)],
  ['password', () => true],
  ['date', calendar(DATE)],
  ['datetime', calendar(DATE_TIME)],
  ['duration', (text) => GO_DURATION.test(text) || WORDY_DURATION.test(text)],
  ['k8sshortname', (text) => text.length <= LABEL_MAX && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text)],
  ['k8slongname', (text) => isDns1123Subdomain(text).length === 0],
]);

/** The check of a format. Hyphens in the format's name are ignored. */
function checkOf(format: string): ((text: string) => boolean) | undefined {
  return checks.get(format) ?? (format.includes('-') ? checks.get(format.replaceAll('-', '')) : undefined);
}

/** Whether the text has the format; undefined for unknown formats. */
export function hasFormat(format: string, text: string): boolean | undefined {
  return checkOf(format)?.(text);
}

/** Whether values of the type are checked for the format. Upstream: apiserver/validation/formats.go. */
export function isKnownFormat(type: string, format: string): boolean {
  switch (type) {
    case '':
    case 'string':
      return checkOf(format) !== undefined;
    case 'integer':
      return format === 'int32' || format === 'int64';
    case 'number':
      return format === 'float' || format === 'double';
    default:
      return false;
  }
}
