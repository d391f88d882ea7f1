/** The header: name, namespace, and what concerns the whole page. */
import type { Signal } from '@preact/signals';
import { namespaces, refreshNamespaces } from './cluster-state.ts';
import { helpOpen } from './help.tsx';
import { Icon } from '../parts/icon.tsx';
import { chosenMs } from './moment.ts';
import { paletteOpen } from './palette.tsx';
import { href, namespace, setParams } from './router.ts';
import { session, signOut } from './session.ts';
import { texts } from './texts.ts';
import { nextTheme, theme } from './theme.ts';
import { timeBarOpen } from './time-bar.tsx';

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
      <button
        type="button"
        class="icon"
        aria-label={shell.theme[theme.value]}
        title={shell.theme[theme.value]}
        onClick={nextTheme}
      >
        <Icon name={theme.value} />
      </button>
      <button
        type="button"
        class="icon"
        aria-label={shell.help}
        title={shell.help}
        onClick={() => (helpOpen.value = true)}
      >
        <Icon name="help" />
      </button>
      <button
        type="button"
        class="icon"
        aria-label={shell.signOut}
        title={shell.signOut}
        onClick={() => void signOut()}
      >
        <Icon name="leave" />
      </button>
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

/** A choice where the namespaces are known, a field where they are not. */
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
