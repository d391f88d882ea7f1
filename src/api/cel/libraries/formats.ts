/** Named formats. Upstream: apiserver/pkg/cel/library/format.go. */
import { EQUALS, TO_JSON } from '../values.ts';
import type { Environment } from '@marcbachmann/cel-js';
import { Optional } from '@marcbachmann/cel-js';
import {
  isDns1035Label,
  isDns1123Label,
  isDns1123Subdomain,
  isLabelValue,
  isQualifiedName,
  maskTrailingDash,
} from '../../names.ts';
import { define, defineNamespace, defineType } from '../define.ts';
import type { CelObject } from '../values.ts';

class NamedFormat implements CelObject {
  readonly format: string;
  readonly complaints: (text: string) => string[];

  constructor(format: string, complaints: (text: string) => string[]) {
    this.format = format;
    this.complaints = complaints;
  }

  [EQUALS](other: NamedFormat): boolean {
    return this.format === other.format;
  }

  [TO_JSON](): string {
    return this.format;
  }
}

const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const DATE_TIME = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/;

/** `2026-02-30` is no date: the day must survive a round trip. */
function isDate(text: string): boolean {
  if (!DATE.test(text)) return false;
  const [year = 0, month = 0, day = 0] = text.split('-').map(Number);
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0;
  return day >= 1 && day <= days;
}

const must = (holds: boolean, text: string): string[] => (holds ? [] : [text]);

const FORMATS: Readonly<Record<string, (text: string) => string[]>> = {
  dns1123Label: isDns1123Label,
  dns1123Subdomain: isDns1123Subdomain,
  dns1035Label: isDns1035Label,
  dns1123LabelPrefix: (text) => isDns1123Label(maskTrailingDash(text)),
  dns1123SubdomainPrefix: (text) => isDns1123Subdomain(maskTrailingDash(text)),
  dns1035LabelPrefix: (text) => isDns1035Label(maskTrailingDash(text)),
  qualifiedName: isQualifiedName,
  labelValue: isLabelValue,
  uri: (text) => must(URL.canParse(text) || text.startsWith('/'), 'invalid URI for request'),
  uuid: (text) => must(UUID.test(text), 'does not match the UUID format'),
  byte: (text) => must(BASE64.test(text), 'invalid base64'),
  date: (text) => must(isDate(text), 'invalid date'),
  datetime: (text) => must(DATE_TIME.test(text) && isDate(text.slice(0, 10)), 'invalid datetime'),
};

const NAME = 'kubernetes.NamedFormat';

/** Declares the library. */
export function defineFormats(environment: Environment): void {
  defineType(environment, NAME, NamedFormat);
  const formats = new Map(Object.entries(FORMATS).map(([name, check]) => [name, new NamedFormat(name, check)]));
  const getters = [...formats].map(([name, format]) => [`${name}(): ${NAME}`, () => format] as const);
  defineNamespace(environment, 'format', {
    [`named(string): optional<${NAME}>`]: (name: string) => Optional.of(formats.get(name)),
    ...Object.fromEntries(getters),
  });
  define(environment, {
    [`${NAME}.validate(string): optional<list<string>>`]: (format: NamedFormat, text: string) => {
      const complaints = format.complaints(text);
      return complaints.length === 0 ? Optional.none() : Optional.of(complaints);
    },
  });
}
