/**
 * Checks of names, labels, ports and similar texts. Every check returns a list of upstream's error texts, which is empty for a
 * valid text. Upstream: apimachinery/pkg/util/validation, pkg/api/validation/path.
 */
import { appendAll } from '../base/lists.ts';

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const SUBDOMAIN = `${LABEL}(\\.${LABEL})*`;
const QUALIFIED = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const LABEL_VALUE = `(${QUALIFIED})?`;
const DNS1035 = '[a-z]([-a-z0-9]*[a-z0-9])?';

const labelRegex = whole(LABEL);
const subdomainRegex = whole(SUBDOMAIN);
const qualifiedRegex = whole(QUALIFIED);
const labelValueRegex = whole(LABEL_VALUE);
const dns1035Regex = whole(DNS1035);
const wildcardRegex = whole(`\\*\\.${SUBDOMAIN}`);

const LABEL_TEXT = regexText(
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  LABEL,
  'my-name',
  '123-abc',
);
const SUBDOMAIN_TEXT = regexText(
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  SUBDOMAIN,
  'example.com',
);
const CASELESS_TEXT = regexText(
  "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  SUBDOMAIN,
  'Example.com',
);
const DNS1035_TEXT = regexText(
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  DNS1035,
  'my-name',
  'abc-123',
);
const QUALIFIED_TEXT = regexText(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  QUALIFIED,
  'MyName',
  'my.name',
  '123-abc',
);
const LABEL_VALUE_TEXT = regexText(
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  LABEL_VALUE,
  'MyValue',
  'my_value',
  '12345',
);
const WILDCARD_TEXT = regexText(
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
  `\\*\\.${SUBDOMAIN}`,
  '*.example.com',
);
const ENV_TEXT = "a valid environment variable name must consist only of printable ASCII characters other than '='";

/** The error of an empty text. */
export const EMPTY_TEXT = 'must be non-empty';

function whole(pattern: string): RegExp {
  return new RegExp(`^${pattern}$`);
}

/** Upstream's text about a pattern, with examples. */
export function regexText(message: string, pattern: string, ...examples: readonly string[]): string {
  if (examples.length === 0) return `${message} (regex used for validation is '${pattern}')`;
  const shown = examples.map((example) => `'${example}', `).join(' or ');
  return `${message} (e.g. ${shown}regex used for validation is '${pattern}')`;
}

function checkShape(text: string, maxLength: number, shape: { regex: RegExp; text: string }): string[] {
  const complaints: string[] = [];
  if (isLonger(text, maxLength)) complaints.push(maxCharactersText(maxLength));
  if (!shape.regex.test(text)) complaints.push(shape.text);
  return complaints;
}

/** Whether a text exceeds a limit in bytes of UTF-8. */
function isLonger(text: string, bytes: number): boolean {
  return text.length * 3 > bytes && Buffer.byteLength(text) > bytes;
}

/** `must be no more than 63 bytes`: the error for labels and for fields with declarative validation. */
export function maxLengthText(max: number): string {
  return `must be no more than ${max} bytes`;
}

/** `must be no more than 63 characters`: the error for names of objects. The limit counts bytes all the same. */
export function maxCharactersText(max: number): string {
  return `must be no more than ${max} characters`;
}

/** `must be between 1 and 65535, inclusive`. */
export function inclusiveRangeText(low: number, high: number): string {
  return `must be between ${low} and ${high}, inclusive`;
}

/** A DNS label: at most 63 lower-case characters. */
export function isDns1123Label(text: string): string[] {
  const complaints = isLonger(text, 63) ? [maxCharactersText(63)] : [];
  return [...complaints, ...labelShape(text)];
}

function labelShape(text: string): string[] {
  if (labelRegex.test(text)) return [];
  return [text.includes('.') && subdomainRegex.test(text) ? 'must not contain dots' : LABEL_TEXT];
}

/** A DNS name: at most 253 lower-case characters. */
export function isDns1123Subdomain(text: string): string[] {
  return checkShape(text, 253, { regex: subdomainRegex, text: SUBDOMAIN_TEXT });
}

/** A DNS name whose length is counted in bytes, as in label keys and declarative validation. */
export function isLongName(text: string): string[] {
  const complaints = isLonger(text, 253) ? [maxLengthText(253)] : [];
  return subdomainRegex.test(text) ? complaints : [...complaints, SUBDOMAIN_TEXT];
}

/** `isLongName` in any case, for names of drivers. */
export function isLongNameCaseless(text: string): string[] {
  const complaints = isLonger(text, 253) ? [maxLengthText(253)] : [];
  return subdomainRegex.test(text.toLowerCase()) ? complaints : [...complaints, CASELESS_TEXT];
}

/** A DNS label whose length is counted in bytes, as in declarative validation. */
export function isShortName(text: string): string[] {
  const complaints = isLonger(text, 63) ? [maxLengthText(63)] : [];
  return [...complaints, ...labelShape(text)];
}

/** A DNS label that starts with a letter. */
export function isDns1035Label(text: string): string[] {
  return checkShape(text, 63, { regex: dns1035Regex, text: DNS1035_TEXT });
}

/** `*.` and a DNS name. */
export function isWildcardDns1123Subdomain(text: string): string[] {
  return checkShape(text, 253, { regex: wildcardRegex, text: WILDCARD_TEXT });
}

/** `name` or `prefix/name`: label keys, resource names, finalizers. */
export function isQualifiedName(text: string): string[] {
  const parts = text.split('/');
  if (parts.length > 2) {
    const optional = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
    return [`a valid label key ${QUALIFIED_TEXT}${optional}`];
  }
  const complaints: string[] = [];
  if (parts.length === 2) {
    if (parts[0] === '') complaints.push(`prefix part ${EMPTY_TEXT}`);
    else
      appendAll(
        complaints,
        isLongName(parts[0]!).map((complaint) => `prefix part ${complaint}`),
      );
  }
  const name = parts[parts.length - 1]!;
  if (name === '') complaints.push(`name part ${EMPTY_TEXT}`);
  else if (isLonger(name, 63)) complaints.push(`name part ${maxLengthText(63)}`);
  if (!qualifiedRegex.test(name)) complaints.push(`name part ${QUALIFIED_TEXT}`);
  return complaints;
}

/** A label's value: empty or at most 63 characters. */
export function isLabelValue(text: string): string[] {
  const complaints = isLonger(text, 63) ? [maxLengthText(63)] : [];
  return labelValueRegex.test(text) ? complaints : [...complaints, LABEL_VALUE_TEXT];
}

/** A key of a ConfigMap or Secret. */
export function isConfigMapKey(text: string): string[] {
  const pattern = '[-._a-zA-Z0-9]+';
  const message = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
  const complaints: string[] = [];
  if (isLonger(text, 253)) complaints.push(maxCharactersText(253));
  if (!/^[-._a-zA-Z0-9]+$/.test(text)) complaints.push(regexText(message, pattern, 'key.name', 'KEY_NAME', 'key-name'));
  if (text === '.') complaints.push("must not be '.'");
  else if (text === '..') complaints.push("must not be '..'");
  else if (text.startsWith('..')) complaints.push("must not start with '..'");
  return complaints;
}

/** An environment variable's name: any printable ASCII but `=`. */
export function isEnvVarName(text: string): string[] {
  if (text.length === 0) return [`environment variable name ${EMPTY_TEXT}`];
  return /^[ -<>-~]+$/.test(text) ? [] : [ENV_TEXT];
}

/** A name that is one path segment: roles, bindings, flow schemas. */
export function isPathSegmentName(text: string): string[] {
  if (text === '.' || text === '..') return [`may not be '${text}'`];
  return ['/', '%'].filter((part) => text.includes(part)).map((part) => `may not contain '${part}'`);
}
