/** The history of an object as text. */
import { fieldChangeText } from '../../apiserver/history/field-changes.ts';
import type { ObjectHistory } from '../../apiserver/history/history-view.ts';
import type { RevisionEntry } from '../../apiserver/history/revision-entry.ts';

const SHOWN_FIELDS = 3;

/** Whether a revision changed nothing but what controllers and nodes report. */
export function isStatusAlone({ change, subresource, fields, fieldCount }: RevisionEntry): boolean {
  if (change !== 'changed' || fieldCount === 0) return false;
  return subresource === 'status' || (fields.length === fieldCount && fields.every(({ path }) => isOfStatus(path)));
}

/** Whether a path leads into the status. */
export function isOfStatus(path: string): boolean {
  return /^status(\.|\[|$)/.test(path);
}

/** Lines of the table, the newest first, and what is not in it. */
export function historyText(history: ObjectHistory & { readonly hidden: number; readonly isCut: boolean }): string {
  const rows = history.revisions.map((entry) => [
    entry.revision,
    entry.time ?? '-',
    entry.user ?? '-',
    entry.manager ?? '-',
    verbOf(entry),
    whatOf(entry),
  ]);
  const lines = tableLines([['REVISION', 'TIME', 'USER', 'MANAGER', 'VERB', 'WHAT'], ...rows]);
  return `${[...lines, ...notes(history)].join('\n')}\n`;
}

function notes({
  hidden,
  isCut,
  gaps,
  since,
  sinceTime,
}: ObjectHistory & { readonly hidden: number; readonly isCut: boolean }): string[] {
  return [
    ...(hidden > 0 ? [`${hidden} changes of the status alone are left out: --all shows them`] : []),
    ...(isCut ? ['older revisions are kept: --limit shows more'] : [`kept since revision ${since}, ${sinceTime}`]),
    ...gaps.map(
      ({ after, until, changes }) =>
        `after revision ${after} and up to ${until} changes of objects may be missing${changes > 0 ? `: ${changes} were not recorded` : ''}`,
    ),
  ];
}

function verbOf({ verb = '-', subresource }: RevisionEntry): string {
  return subresource === undefined ? verb : `${verb} ${subresource}`;
}

function whatOf({ change, fields, fieldCount, unreadable }: RevisionEntry): string {
  if (unreadable !== undefined) return unreadable;
  if (change === 'created' || change === 'deleted') return change;
  if (change === 'known') return 'as it was before';
  if (fieldCount === 0) return 'nothing but book-keeping';
  const shown = fields.slice(0, SHOWN_FIELDS).map(fieldChangeText);
  const more = fieldCount - shown.length;
  return shown.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** Columns as wide as their longest cell, except the last. */
function tableLines(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, column) => rows.reduce((most, row) => Math.max(most, row[column]!.length), 0));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
}
