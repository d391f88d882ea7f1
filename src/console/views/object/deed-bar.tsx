/** Buttons for what the user may do; each shows its command, and acts when that is confirmed. */
import { useSignal } from '@preact/signals';
import { useState } from 'preact/hooks';
import type { KubernetesObject } from '../../../api/object.ts';
import { ApiError } from '../../api/http.ts';
import type { ObjectRef } from '../../api/kinds.ts';
import { texts } from '../../app/texts.ts';
import { Dialog } from '../../parts/dialog.tsx';
import type { MayDo } from '../../parts/access.ts';
import { type Deed, deedsOf } from './deeds.ts';

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
        .filter(({ needs }) => mayDo(needs))
        .map((deed) => (
          <button key={deed.label} type="button" onClick={() => choose(deed)}>
            {deed.label}
          </button>
        ))}
      <Dialog open={open} title={chosen === undefined ? '' : `${chosen.label}: ${ref.kind.kind} ${ref.name}`}>
        {chosen === undefined ? null : <Confirm deed={chosen} onDone={() => (open.value = false)} />}
      </Dialog>
    </>
  );
}

function Confirm({ deed, onDone }: { readonly deed: Deed; readonly onDone: () => void }) {
  const [input, setInput] = useState(deed.input?.value ?? 0);
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
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
          <input
            type="number"
            min={0}
            step={1}
            required
            value={input}
            onInput={({ currentTarget }) => setInput(currentTarget.valueAsNumber)}
          />
        </label>
      )}
      <p class="dim">{texts.object.equals}</p>
      <pre class="mono">{deed.command(Number.isNaN(input) ? 0 : input)}</pre>
      {error === '' ? null : <p role="alert">{error}</p>}
      <button type="submit" class={deed.destroys === true ? 'object-destroys' : 'primary'} disabled={busy}>
        {deed.label}
      </button>
    </form>
  );
}
