/** The history of an object: its changes, the newest first, with the fields that changed. */
import { useEffect, useState } from 'preact/hooks';
import { readHistory, type Revision } from '../../api/explain.ts';
import { ApiError } from '../../api/http.ts';
import { type ObjectRef, objectPath } from '../../api/kinds.ts';
import { texts } from '../../app/texts.ts';
import { Age } from '../../parts/age.tsx';

interface Pages {
  readonly revisions: readonly Revision[];
  readonly before: string;
  readonly state: 'loading' | 'read' | { readonly error: string };
}

interface HistoryProps {
  readonly of: ObjectRef;
  /** The object's version; another one means that there is a new change. */
  readonly version: string;
  /** Changes after that version are left out. */
  readonly isPast: boolean;
}

export function History({ of: ref, version, isPast }: HistoryProps) {
  const [pages, setPages] = useState<Pages>({ revisions: [], before: '', state: 'loading' });
  const read = async (before: string, earlier: readonly Revision[]): Promise<void> => {
    try {
      const answer = await readHistory(ref, before);
      setPages({ revisions: [...earlier, ...answer.revisions], before: answer.before ?? '', state: 'read' });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const text = error.code === 404 ? texts.object.historyOff : `${texts.object.noHistory} ${error.message}`;
      setPages((now) => ({ ...now, state: { error: text } }));
    }
  };
  useEffect(() => {
    if (isPast && version === '') setPages({ revisions: [], before: '', state: 'read' });
    else void read(isPast ? String(Number(version) + 1) : '', []);
  }, [objectPath(ref), version, isPast]);
  const { revisions, before, state } = pages;
  return (
    <section aria-label={texts.object.history}>
      {state === 'loading' ? <p class="dim">{texts.shell.loading}</p> : null}
      {typeof state === 'object' ? <p role="alert">{state.error}</p> : null}
      <ol class="object-history">
        {revisions.map((revision) => (
          <RevisionItem key={revision.revision} revision={revision} />
        ))}
      </ol>
      {before === '' ? null : (
        <button type="button" onClick={() => void read(before, revisions)}>
          {texts.object.older}
        </button>
      )}
    </section>
  );
}

function RevisionItem({ revision: entry }: { readonly revision: Revision }) {
  const { revision, time, change, user, manager, verb, subresource, fields = [], fieldCount = 0, unreadable } = entry;
  const by = [user, manager === user ? undefined : manager, [verb, subresource].filter(Boolean).join(' ')];
  return (
    <li>
      <p>
        <strong>{texts.object.changes[change]}</strong> <Age sinceMs={Date.parse(time)} />{' '}
        <span class="dim">{[...by, `#${revision}`].filter(Boolean).join(' · ')}</span>
      </p>
      {unreadable === undefined ? null : <p class="dim">{unreadable}</p>}
      {fields.length === 0 ? null : (
        <ul class="object-diff mono">
          {fields.map(({ path, from, to }) => (
            <li key={path}>
              <span>{path}</span>
              {from === undefined ? null : <del>{from}</del>}
              {to === undefined ? null : <ins>{to}</ins>}
            </li>
          ))}
        </ul>
      )}
      {fieldCount > fields.length ? <p class="dim">{texts.object.more(fieldCount - fields.length)}</p> : null}
    </li>
  );
}
