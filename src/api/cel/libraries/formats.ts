/** Named formats. Upstream: apiserver/pkg/cel/library/format.go. */
import { parseGoRequestUri } from '../../../base/go-url.ts';
import { EQUALS, Optional, TO_JSON, TYPE_NAME } from '../runtime/values.ts';
import { isDns1035Label, isDns1123Label, isDns1123Subdomain, isLabelValue, isQualifiedName } from '../../names.ts';
import { maskTrailingDash } from '../../name-checks.ts';
import { structTypeOf } from '../types/type.ts';
import type { Declarations } from '../types/declarations.ts';
import type { CelObject } from '../runtime/values.ts';

const NAME = 'kubernetes.NamedFormat';

class NamedFormat implements CelObject {
  readonly [TYPE_NAME] = NAME;
  readonly format: string;
  readonly complaints: (text: string) => string[];

  /** The length of the regular expression that implements the format. */
  readonly patternSize: number;

  constructor(format: string, complaints: (text: string) => string[], patternSize: number) {
    this.format = format;
    this.complaints = complaints;
    this.patternSize = patternSize;
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

/** Dates such as `2026-02-30` are refused: the parsed day must be printed as the same text. */
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
  uri: (text) => {
    const url = parseGoRequestUri(text);
    return typeof url === 'string' ? [url] : [];
  },
  uuid: (text) => must(UUID.test(text), 'does not match the UUID format'),
  byte: (text) => must(BASE64.test(text), 'invalid base64'),
  date: (text) => must(isDate(text), 'invalid date'),
  datetime: (text) => must(DATE_TIME.test(text) && isDate(text.slice(0, 10)), 'invalid datetime'),
};

/** Lengths of the regular expressions that implement formats, from which costs are computed. */
const PATTERN_SIZES: Readonly<Record<string, number>> = {
  dns1123Subdomain: 60,
  dns1123SubdomainPrefix: 60,
  qualifiedName: 60,
  labelValue: 40,
  uri: 1104,
  uuid: 72,
  byte: 84,
  date: 72,
  datetime: 72,
};

export function defineFormats(declarations: Declarations): void {
  declarations.addType(structTypeOf(NAME, undefined));
  const formats = new Map(
    Object.entries(FORMATS).map(([name, check]) => [name, new NamedFormat(name, check, PATTERN_SIZES[name] ?? 30)]),
  );
  const getters = [...formats].map(([name, format]) => [`format.${name}(): ${NAME}`, () => format] as const);
  declarations.defineNamespaced({
    [`format.named(string): optional<${NAME}>`]: (name: string) => {
      const format = formats.get(name);
      return format === undefined ? Optional.none : Optional.of(format);
    },
    ...Object.fromEntries(getters),
  });
  declarations.define({
    [`${NAME}.validate(string): optional<list<string>>`]: (format: NamedFormat, text: string) => {
      const complaints = format.complaints(text);
      return complaints.length === 0 ? Optional.none : Optional.of(complaints);
    },
  });
}
