/** Buttons of the actions that the user may perform. Each shows its command, and runs after a confirmation. */
import { useSignal } from '@preact/signals';
import { useState } from 'preact/hooks';
import type { KubernetesObject } from '../../../api/object.ts';
import { ApiError } from '../../api/http.ts';
import type { ObjectRef } from '../../api/kinds.ts';
import { texts } from '../../app/texts.ts';
import { Dialog } from '../../parts/dialog.tsx';
import type { MayDo } from '../../parts/access.ts';
import type { ObjectAction, ConfirmedAction } from './object-action.ts';
import { actionsOf } from './object-actions.ts';

interface ActionBarProps {
  readonly of: ObjectRef;
  readonly object: KubernetesObject;
  readonly mayDo: MayDo;
}

export function ActionBar({ of: ref, object, mayDo }: ActionBarProps) {
  const open = useSignal(false);
  const [chosen, setChosen] = useState<ObjectAction>();
  const choose = (action: ObjectAction): void => {
    setChosen(action);
    open.value = true;
  };
  return (
    <>
      {actionsOf(ref, object)
        .filter(({ needs }) => needs.every(mayDo))
        .map((action) => (
          <button key={action.label} type="button" onClick={() => choose(action)}>
            {action.label}
          </button>
        ))}
      <Dialog open={open} title={chosen === undefined ? '' : `${chosen.label}: ${ref.kind.kind} ${ref.name}`}>
        {chosen === undefined ? null : 'Dialog' in chosen ? (
          <chosen.Dialog of={ref} object={object} onDone={() => (open.value = false)} />
        ) : (
          <Confirm action={chosen} onDone={() => (open.value = false)} />
        )}
      </Dialog>
    </>
  );
}

function Confirm({ action, onDone }: { readonly action: ConfirmedAction; readonly onDone: () => void }) {
  const [input, setInput] = useState(action.input?.value ?? '');
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  const typed = ({ currentTarget }: { readonly currentTarget: HTMLInputElement }): void =>
    setInput(currentTarget.value);
  const act = (event: Event): void => {
    event.preventDefault();
    setBusy(true);
    action.run(input).then(onDone, (failure: unknown) => {
      setBusy(false);
      if (!(failure instanceof ApiError)) throw failure;
      setError(failure.message);
    });
  };
  return (
    <form class="object-confirm" onSubmit={act}>
      {action.input === undefined ? null : (
        <label>
          {action.input.label}
          {action.input.type === 'number' ? (
            <input type="number" min={0} step={1} required value={input} onInput={typed} />
          ) : (
            <input type="text" required spellcheck={false} value={input} onInput={typed} />
          )}
        </label>
      )}
      <p class="dim">{texts.object.equals}</p>
      <pre class="mono">{action.command(input)}</pre>
      {error === '' ? null : <p role="alert">{error}</p>}
      <button type="submit" class={action.destroys === true ? 'object-destroys' : 'primary'} disabled={busy}>
        {action.label}
      </button>
    </form>
  );
}
