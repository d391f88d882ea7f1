/** The header: name, namespace, and tools of the whole page. */
import type { Signal } from '@preact/signals';
import { namespaces, refreshNamespaces } from './cluster-state.ts';
import { Icon } from '../parts/icon.tsx';
import { chosenMs, timeBarOpen } from './moment.ts';
import { PageTools } from './page-tools.tsx';
import { paletteOpen } from './palette.tsx';
import { href, namespace, setParams } from './router.ts';
import { session } from './session.ts';
import { texts } from './texts.ts';

export function Header({ menuOpen }: { readonly menuOpen: Signal<boolean> }) {
  const { shell } = texts;
  return (
    <header class="top">
      <button
        type="button"
        class="icon menu-button"
        aria-label={shell.menu}
        aria-expanded={menuOpen.value}
        onClick={() => (menuOpen.value = !menuOpen.value)}
      >
        <Icon name="menu" />
      </button>
      <a class="brand" href={href([])} aria-label={texts.title}>
        <img src="/console/keelson.svg" alt="" width="22" height="22" />
        <span>{texts.title}</span>
      </a>
      <NamespacePicker />
      <PaletteButton />
      <span class="grow" />
      <UserName />
      <TimeButton />
      <PageTools />
    </header>
  );
}

function PaletteButton() {
  const { openPalette } = texts.shell;
  return (
    <button type="button" class="palette-button" aria-label={openPalette} onClick={() => (paletteOpen.value = true)}>
      <Icon name="search" />
      <span>{openPalette}</span>
      <kbd>:</kbd>
    </button>
  );
}

function TimeButton() {
  return (
    <button
      type="button"
      class="icon"
      aria-label={texts.time.open}
      title={texts.time.open}
      aria-expanded={timeBarOpen.value || chosenMs.value !== undefined}
      onClick={() => (timeBarOpen.value = !timeBarOpen.value)}
    >
      <Icon name="time" />
    </button>
  );
}

function UserName() {
  const state = session.value;
  if (state.kind !== 'signedIn') return null;
  const { username = '' } = state.user;
  return (
    <span class="user mono" title={username}>
      {username.replace(/^system:serviceaccount:/, '')}
    </span>
  );
}

/** A list of the known namespaces, or a text field when the user may not list them. */
function NamespacePicker() {
  const { shell } = texts;
  const known = namespaces.value;
  const set = (ns: string): void => setParams({ ns }, { replace: false });
  if (known === undefined)
    return (
      <input
        class="namespace mono"
        aria-label={shell.namespace}
        placeholder={shell.allNamespaces}
        value={namespace.value}
        spellcheck={false}
        onChange={({ currentTarget }) => set(currentTarget.value.trim())}
      />
    );
  const all = namespace.value === '' || known.includes(namespace.value) ? known : [...known, namespace.value];
  return (
    <select
      class="namespace mono"
      aria-label={shell.namespace}
      value={namespace.value}
      onFocus={() => void refreshNamespaces()}
      onChange={({ currentTarget }) => set(currentTarget.value)}
    >
      <option value="">{shell.allNamespaces}</option>
      {all.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}
