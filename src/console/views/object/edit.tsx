/** Edits an object: a dry run on the server shows the changes and the conflicting field managers, then the edit is applied. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../../api/http.ts';
import type { ObjectRef } from '../../api/kinds.ts';
import { applyObject } from '../../api/objects.ts';
import { texts } from '../../app/texts.ts';
import type { Editor } from './editor.ts';
import { SchemaHelp } from './schema-help.tsx';
import { type Trial, TrialResult } from './trial-result.tsx';
import { withoutBookKeeping } from './yaml-text.ts';

interface EditProps {
  readonly of: ObjectRef;
  /** The current text on the server; the edit starts with its first value. */
  readonly text: string;
  readonly onEnd: () => void;
}

export function Edit({ of: ref, text, onEnd }: EditProps) {
  const host = useRef<HTMLDivElement>(null);
  const [failure, setFailure] = useState('');
  const [field, setField] = useState<readonly string[]>([]);
  const editor = useEditor(host, { text, failed: setFailure, onField: setField });
  const [trial, setTrial] = useState<Trial>();
  const [force, setForce] = useState(false);
  const attempt = async (dryRun: boolean): Promise<void> => {
    if (editor.current === undefined) return;
    const edited = editor.current.text();
    try {
      const after = await applyObject(ref, edited, { dryRun, force });
      if (dryRun) setTrial({ kind: 'accepted', edited, force, before: text, after: withoutBookKeeping(after) });
      else onEnd();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setTrial({ kind: 'refused', error });
    }
  };
  const tried = trial?.kind === 'accepted' && trial.force === force ? trial : undefined;
  const isTried = (): boolean => tried !== undefined && tried.edited === editor.current?.text();
  return (
    <section aria-label={texts.edit.editor}>
      <p class="dim">{texts.edit.hint}</p>
      {failure === '' ? null : <p role="alert">{`${texts.shell.failed} ${failure}`}</p>}
      <div class="object-editing">
        <div ref={host} class="object-editor takes-keys" />
        <SchemaHelp kind={ref.kind} path={field} />
      </div>
      <div class="object-buttons">
        <button type="button" onClick={() => void attempt(true)}>
          {texts.edit.tryFirst}
        </button>
        <button
          type="button"
          class="primary"
          disabled={tried === undefined}
          // A text that changed since its dry run gets another dry run.
          onClick={() => void attempt(!isTried())}
        >
          {texts.edit.apply}
        </button>
        <button type="button" onClick={onEnd}>
          {texts.edit.cancel}
        </button>
      </div>
      {trial === undefined ? null : <TrialResult trial={trial} force={force} onForce={setForce} />}
    </section>
  );
}

interface EditorStart {
  readonly text: string;
  readonly failed: (message: string) => void;
  readonly onField: (path: readonly string[]) => void;
}

function useEditor(host: { readonly current: HTMLElement | null }, { text, failed, onField }: EditorStart) {
  const editor = useRef<Editor>(undefined);
  useEffect(() => {
    let current = true;
    import('./editor.ts').then(
      ({ openEditor }) => {
        if (current) editor.current = openEditor(host.current!, { text, label: texts.edit.editor, onField });
      },
      (error: unknown) => failed(String(error)),
    );
    return () => {
      current = false;
      editor.current?.destroy();
    };
  }, []);
  return editor;
}
