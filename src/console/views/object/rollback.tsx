/** The dialog for rolling back a workload: its revisions, and the changes of the selected one. */
import { useEffect, useState } from 'preact/hooks';
import type { PodTemplateSpec } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import { ApiError } from '../../api/http.ts';
import { texts } from '../../app/texts.ts';
import { Age } from '../../parts/age.tsx';
import { type ActionDialogProps, target } from './object-action.ts';
import { readRevisions, type Revision, type Workload } from './revisions.ts';
import { Changes } from './trial-result.tsx';

const { rollback: words } = texts.object.actions;

export function Rollback({ of: ref, object, onDone }: ActionDialogProps) {
  const workload = object as Stored<Workload>;
  const [revisions, setRevisions] = useState<readonly Revision[]>();
  const [chosen, setChosen] = useState<Revision>();
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  const failed = (failure: unknown): void => {
    setBusy(false);
    if (!(failure instanceof ApiError)) throw failure;
    setError(failure.message);
  };
  useEffect(() => {
    readRevisions(ref, workload).then((found) => {
      setRevisions(found);
      setChosen(found[1]);
    }, failed);
  }, []);
  const act = (event: Event): void => {
    event.preventDefault();
    if (chosen === undefined) return;
    setBusy(true);
    chosen.restore().then(onDone, failed);
  };
  const paused = workload.spec?.paused === true;
  return (
    <form class="object-confirm" onSubmit={act}>
      {paused ? <p role="alert">{words.paused}</p> : null}
      {revisions === undefined && error === '' ? <p class="dim">{texts.shell.loading}</p> : null}
      {revisions !== undefined && revisions.length < 2 ? <p>{words.none}</p> : null}
      {revisions === undefined || revisions.length < 2 ? null : (
        <Choice revisions={revisions} chosen={chosen} choose={setChosen} />
      )}
      {chosen === undefined ? null : (
        <>
          <p>{words.wouldChange}</p>
          <Changes before={templateText(workload.spec?.template)} after={templateText(chosen.template)} />
          <p class="dim">{texts.object.equals}</p>
          <pre class="mono">{`kubectl rollout undo ${target(ref)} --to-revision=${chosen.number}`}</pre>
        </>
      )}
      {error === '' ? null : <p role="alert">{error}</p>}
      <button type="submit" class="primary" disabled={busy || paused || chosen === undefined}>
        {words.label}
      </button>
    </form>
  );
}

interface ChoiceProps {
  readonly revisions: readonly Revision[];
  readonly chosen: Revision | undefined;
  readonly choose: (revision: Revision) => void;
}

function Choice({ revisions, chosen, choose }: ChoiceProps) {
  return (
    <fieldset class="object-revisions">
      <legend>{words.revisions}</legend>
      {revisions.map((revision, at) => (
        <label key={revision.number}>
          <input
            type="radio"
            name="revision"
            disabled={at === 0}
            checked={chosen === revision}
            onChange={() => choose(revision)}
          />
          <span>
            {words.revision(revision.number)}{' '}
            <span class="dim">
              {at === 0 ? words.current : <Age sinceMs={revision.createdMs} />}
              {` ${[revision.cause, imagesOf(revision.template)].filter((text) => text !== '').join(' · ')}`}
            </span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

function imagesOf({ spec }: PodTemplateSpec): string {
  return (spec?.containers ?? []).map(({ image = '' }) => image).join(', ');
}

/** Keys are sorted, so that equal templates have equal texts. */
function templateText(template: PodTemplateSpec | undefined): string {
  return JSON.stringify(template ?? {}, (_key, value: unknown) => (isRecord(value) ? sorted(value) : value), 2);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function sorted(record: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
}
