/** Formats an explanation for people: the verdict first, then the chain of causes. */
import { objectText, type Cause, type Explanation, type ShownCondition } from './explanation.ts';

const INDENTATION = '  ';

/** The text ends with a line break. */
export function explanationText(explanation: Explanation): string {
  const { object, state, summary, causes, conditions = [], lookedAt, notReadable } = explanation;
  return `${[
    `${objectText(object)} ${summary}${verdictOf(explanation)}`,
    ...causes.flatMap((cause) => causeLines(cause, 1)),
    ...(state === 'Unknown' && causes.length === 0
      ? ['  not known: nothing that was looked at says why', ...lookedAt.map((what) => `    looked at ${what}`)]
      : []),
    // Causes already contain the information of the conditions.
    ...(causes.length === 0 ? conditions.map(conditionLine) : []),
    ...notReadable.map((what) => `  ${what.startsWith('cannot see ') ? '' : 'not readable: '}${what}`),
  ].join('\n')}\n`;
}

function conditionLine({ type, status, reason, message, since }: ShownCondition): string {
  const why = reason === undefined ? '' : ` (${reason})`;
  return `  ${type}: ${status}${why}${since === undefined ? '' : ` since ${since}`}${message === undefined ? '' : `: ${message}`}`;
}

/** The end of the first line: the first cause of the first chain. */
function verdictOf({ causes }: Explanation): string {
  let last: Cause | undefined = causes[0];
  while (last?.because[0] !== undefined) last = last.because[0];
  return last === undefined ? '' : `: ${last.message}`;
}

function causeLines(cause: Cause, depth: number): readonly string[] {
  const { code, object, message, since, nextTry, facts = [], cure, because } = cause;
  const indent = INDENTATION.repeat(depth);
  const times = [since === undefined ? '' : `since ${since}`, nextTry === undefined ? '' : `next at ${nextTry}`].filter(
    (text) => text !== '',
  );
  return [
    `${indent}${message}${times.length === 0 ? '' : `, ${times.join(', ')}`}  [${code}, ${objectText(object)}]`,
    ...facts.map((fact) => `${indent}  | ${fact.replaceAll('\n', `\n${indent}  | `)}`),
    ...(cure === undefined ? [] : [`${indent}  cure: ${cure.text}`]),
    ...(cure?.command === undefined ? [] : [`${indent}    ${cure.command}`]),
    ...because.flatMap((deeper) => causeLines(deeper, depth + 1)),
  ];
}
