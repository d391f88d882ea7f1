/** The server's response to the dry run of an edit. */
import type { ApiError } from '../../api/http.ts';
import { texts } from '../../app/texts.ts';
import { type DiffLine, diffLines } from '../../parts/line-diff.ts';

export type Trial =
  | {
      readonly kind: 'accepted';
      readonly edited: string;
      readonly force: boolean;
      readonly before: string;
      readonly after: string;
    }
  | { readonly kind: 'refused'; readonly error: ApiError };

interface TrialProps {
  readonly trial: Trial;
  readonly force: boolean;
  readonly onForce: (force: boolean) => void;
}

export function TrialResult({ trial, force, onForce }: TrialProps) {
  if (trial.kind === 'accepted') return <Changes before={trial.before} after={trial.after} />;
  const conflicts = conflictsOf(trial.error);
  if (conflicts.length === 0) return <p role="alert">{trial.error.message}</p>;
  return (
    <div role="alert">
      <p>{texts.edit.conflicts}</p>
      <ul class="object-conflicts">
        {conflicts.map(({ manager, fields }) => (
          <li key={manager}>
            <strong>{manager}</strong>
            {fields.map((field) => (
              <code key={field} class="mono">
                {field}
              </code>
            ))}
          </li>
        ))}
      </ul>
      <label>
        <input type="checkbox" checked={force} onChange={({ currentTarget }) => onForce(currentTarget.checked)} />
        {texts.edit.takeOver}
      </label>
    </div>
  );
}

interface Conflict {
  readonly manager: string;
  readonly fields: readonly string[];
}

/** Conflicts by manager; a cause's message has the manager's name in quotes. */
function conflictsOf({ status: { details } }: ApiError): readonly Conflict[] {
  const causes = (details?.causes ?? []).filter(({ reason }) => reason === 'FieldManagerConflict');
  const byManager = Map.groupBy(causes, ({ message = '' }) => /"([^"]*)"/.exec(message)?.[1] ?? message);
  return [...byManager].map(([manager, found]) => ({ manager, fields: found.map(({ field = '' }) => field) }));
}

/** The number of unchanged lines shown around a change. */
const CONTEXT = 3;

/** The differences, with some lines around them. */
export function Changes({ before, after }: { readonly before: string; readonly after: string }) {
  if (before === after) return <p role="status">{texts.edit.same}</p>;
  return (
    <div role="status">
      <p>{texts.edit.wouldChange}</p>
      <pre class="object-changes mono">
        {hunks(diffLines(before, after)).map((part, index) =>
          typeof part === 'number' ? (
            <span key={index} class="dim">
              {`${texts.edit.omitted(part)}\n`}
            </span>
          ) : part.mark === ' ' ? (
            <span key={index}>{`  ${part.text}\n`}</span>
          ) : part.mark === '+' ? (
            <ins key={index}>{`+ ${part.text}\n`}</ins>
          ) : (
            <del key={index}>{`- ${part.text}\n`}</del>
          ),
        )}
      </pre>
    </div>
  );
}

/** A number stands for that many omitted lines. */
function hunks(lines: readonly DiffLine[]): readonly (DiffLine | number)[] {
  const near = lines.map((_, at) =>
    lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(({ mark }) => mark !== ' '),
  );
  const parts: (DiffLine | number)[] = [];
  for (const [at, line] of lines.entries()) {
    const last = parts.at(-1);
    if (near[at] === true) parts.push(line);
    else if (typeof last === 'number') parts[parts.length - 1] = last + 1;
    else parts.push(1);
  }
  return parts;
}
