/** The table of refusals: the change of a sample, and the errors of a server of v1.36. */
import { readFileSync, writeFileSync } from 'node:fs';
import type { Complaint } from './asker-fixture.ts';
import type { Change } from './changes-fixture.ts';
import type { Verb } from './samples-fixture.ts';

/** One refused request. */
export interface Row {
  readonly sample: string;
  readonly verb: Verb;
  readonly change: Change;
  readonly complaints: readonly Complaint[];
}

/** How each reason's texts begin. */
const REASONS: Readonly<Record<string, string>> = {
  'Invalid value': 'Invalid',
  'Required value': 'Required',
  'Unsupported value': 'NotSupported',
  'Duplicate value': 'Duplicate',
  Forbidden: 'Forbidden',
  'Not found': 'NotFound',
  'Too long': 'TooLong',
  'Too many': 'TooMany',
};

function reasonOf(text: string): string {
  const start = Object.keys(REASONS).find((known) => text.startsWith(known));
  return `FieldValue${start === undefined ? '' : REASONS[start]}`;
}

/**
 * As JSON: verb and path in one, the value if there is one in a list, then each complaint's field and text. A field is `=`
 * where it is the place of the change. What texts end with stands once, in the file's first line, here `#` and its number.
 * The rows of a sample follow its name.
 */
type Line = readonly [string, readonly unknown[], ...(readonly string[])[]];

const place = new URL('table.jsonl', import.meta.url);
const LONG_TEXT = 16;

/** The path as complaints name it. */
function fieldOf(path: Change['path']): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .slice(1);
}

function rowOf(sample: string, line: Line, texts: readonly string[]): Row {
  const [where, value, ...complaints] = line;
  const [verb, steps] = [where.slice(0, where.indexOf(' ')), where.slice(where.indexOf(' ') + 1)];
  const path = steps.split('/').map((step) => (/^\d+$/u.test(step) ? Number(step) : step.replaceAll('~1', '/')));
  return {
    sample,
    verb: verb as Verb,
    change: value.length === 0 ? { path } : { path, value: value[0] },
    complaints: complaints.map(([field = '', text = '']) => {
      const whole = text.replace(/#(\d+)$/u, (_, index: string) => texts[Number(index)]!);
      return [field === '=' ? fieldOf(path) : field, reasonOf(whole), whole] as const;
    }),
  };
}

/** All rows. */
export function readTable(): readonly Row[] {
  const [texts, ...lines] = readFileSync(place, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
  let sample = '';
  return lines.flatMap((line) => {
    if (Array.isArray(line)) return [rowOf(sample, line as unknown as Line, texts as string[])];
    sample = line as string;
    return [];
  });
}

/** The part of an error's text after the value. */
function tailOf(text: string): string {
  return /^(?:\w+ value|Forbidden|Too \w+): (?:"[^"]*": |[^ ]+: )?(.*)$/su.exec(text)?.[1] ?? text;
}

/** Whether a row can be written: the reason shows in the text. */
export function isWritable([, reason, text]: Complaint): boolean {
  return reason === reasonOf(text);
}

/** Writes rows in their order, one a line. Throws for a reason that does not show in its text. */
export function writeTable(rows: readonly Row[]): void {
  const texts: string[] = [];
  const short = (text: string): string => {
    const tail = tailOf(text);
    if (tail.length < LONG_TEXT) return text;
    if (!texts.includes(tail)) texts.push(tail);
    return `${text.slice(0, text.length - tail.length)}#${texts.indexOf(tail)}`;
  };
  const lineOf = ({ verb, change, complaints }: Row): Line => [
    `${verb} ${change.path.map((step) => String(step).replaceAll('/', '~1')).join('/')}`,
    change.value === undefined ? [] : [change.value],
    ...complaints.map(([field, reason, text]) => {
      if (!isWritable([field, reason, text])) throw new Error(`${reason}: ${text}`);
      return [field === fieldOf(change.path) ? '=' : field, short(text)];
    }),
  ];
  const parts = Object.entries(Object.groupBy(rows, ({ sample }) => sample));
  const lines = parts.flatMap(([sample, own = []]) => [sample, ...own.map(lineOf)]);
  writeFileSync(place, [texts, ...lines].map((line) => `${JSON.stringify(line)}\n`).join(''));
}
