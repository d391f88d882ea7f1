/** Buttons of the actions that the user may perform. Each shows its command, and runs after a confirmation. */
import { useSignal } from '@preact/signals';
import { useState } from 'preact/hooks';
import type { KubernetesObject } from '../../../api/object.ts';
import { ApiError } from '../../api/http.ts';
import type { ObjectRef } from '../../api/kinds.ts';
import { texts } from '../../app/texts.ts';
import { Dialog } from '../../parts/dialog.tsx';
import type { MayDo } from '../../parts/access.ts';
import type { Deed, PlainDeed } from './deed.ts';
import { deedsOf } from './deeds.ts';

interface DeedBarProps {
  readonly of: ObjectRef;
  readonly object: KubernetesObject;
  readonly mayDo: MayDo;
}

export function DeedBar({ of: ref, object, mayDo }: DeedBarProps) {
  const open = useSignal(false);
  const [chosen, setChosen] = useState<Deed>();
  const choose = (deed: Deed): void => {
    setChosen(deed);
    open.value = true;
  };
  return (
    <>
      {deedsOf(ref, object)
        .filter(({ needs }) => needs.every(mayDo))
        .map((deed) => (
          <button key={deed.label} type="button" onClick={() => choose(deed)}>
            {deed.label}
          </button>
        ))}
      <Dialog open={open} title={chosen === undefined ? '' : `${chosen.label}: ${ref.kind.kind} ${ref.name}`}>
        {chosen === undefined ? null : 'Dialog' in chosen ? (
          <chosen.Dialog of={ref} object={object} onDone={() => (open.value = false)} />
        ) : (
          <Confirm deed={chosen} onDone={() => (open.value = false)} />
        )}
      </Dialog>
    </>
  );
}

function Confirm({ deed, onDone }: { readonly deed: PlainDeed; readonly onDone: () => void }) {
  const [input, setInput] = useState(deed.input?.value ?? '');
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  const typed = ({ currentTarget }: { readonly currentTarget: HTMLInputElement }): void =>
    setInput(currentTarget.value);
  const act = (event: Event): void => {
    event.preventDefault();
    setBusy(true);
    deed.run(input).then(onDone, (failure: unknown) => {
      setBusy(false);
      if (!(failure instanceof ApiError)) throw failure;
      setError(failure.message);
    });
  };
  return (
    <form class="object-confirm" onSubmit={act}>
      {deed.input === undefined ? null : (
        <label>
          {deed.input.label}
          {deed.input.type === 'number' ? (
            <input type="number" min={0} step={1} required value={input} onInput={typed} />
          ) : (
            <input type="text" required spellcheck={false} value={input} onInput={typed} />
          )}
        </label>
      )}
      <p class="dim">{texts.object.equals}</p>
      <pre class="mono">{deed.command(input)}</pre>
      {error === '' ? null : <p role="alert">{error}</p>}
      <button type="submit" class={deed.destroys === true ? 'object-destroys' : 'primary'} disabled={busy}>
        {deed.label}
      </button>
    </form>
  );
}
