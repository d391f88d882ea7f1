/** The palette: `:` and a kind's name open the list of the kind, as in k9s. */
import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { type Kind, kindId } from '../api/kinds.ts';
import { Dialog } from '../parts/dialog.tsx';
import { listable, refreshKinds } from './cluster-state.ts';
import { kindsFor } from './menu.ts';
import { href, namespace, navigate } from './router.ts';
import { texts } from './texts.ts';

export const paletteOpen = signal(false);

const MOST = 12;

export function Palette() {
  return (
    <Dialog open={paletteOpen} title={texts.palette.title} class="palette">
      <Choices />
    </Dialog>
  );
}

function Choices() {
  const [word, setWord] = useState('');
  const [at, setAt] = useState(0);
  useEffect(() => void refreshKinds(), []);
  const found = kindsFor(listable.value, word).slice(0, MOST);
  const go = (kind: Kind): void => leave(kindId(kind), kind.namespaced ? namespace.value : '');
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setAt(Math.min(Math.max(0, at + step), found.length - 1));
    else if (event.key === 'Enter' && found[at] !== undefined) go(found[at]);
    // The kinds may not be loaded yet, or the user may not list this one; the list then shows the error.
    else if (event.key === 'Enter' && word.trim() !== '') leave(word.trim(), namespace.value);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <input
        class="mono"
        aria-label={texts.palette.placeholder}
        placeholder={texts.palette.placeholder}
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found[at] === undefined ? undefined : `palette-${at}`}
        autofocus
        spellcheck={false}
        value={word}
        onInput={({ currentTarget }) => {
          setWord(currentTarget.value.replace(/^:/, ''));
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <ul id="palette-list" role="listbox" aria-label={texts.palette.title}>
        {found.map((kind, index) => (
          <li
            key={kindId(kind)}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === at}
            onClick={() => go(kind)}
          >
            <span>{kind.resource}</span>
            <span class="dim mono">{[...kind.shortNames, kind.group].filter((part) => part !== '').join(' · ')}</span>
          </li>
        ))}
      </ul>
      {found.length === 0 ? <p class="dim">{texts.palette.none}</p> : null}
    </>
  );
}

function leave(word: string, ns: string): void {
  paletteOpen.value = false;
  navigate(href(['list', word], { ns }));
}
