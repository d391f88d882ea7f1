/** Tools of the whole page: colours, keys, sign-out. They are in the header, or in the menu on a narrow page. */
import { Icon } from '../parts/icon.tsx';
import { helpOpen } from './help.tsx';
import { signOut } from './session.ts';
import { texts } from './texts.ts';
import { nextTheme, theme } from './theme.ts';

/** `named`: names are shown beside the icons. */
export function PageTools({ named = false }: { readonly named?: boolean }) {
  const { shell } = texts;
  const tools = [
    { icon: theme.value, label: shell.theme[theme.value], run: nextTheme },
    { icon: 'help', label: shell.help, run: () => (helpOpen.value = true) },
    { icon: 'leave', label: shell.signOut, run: () => void signOut() },
  ] as const;
  return (
    <span class="page-tools">
      {tools.map(({ icon, label, run }) => (
        <button
          key={icon}
          type="button"
          class={named ? 'named' : 'icon'}
          aria-label={label}
          title={label}
          onClick={run}
        >
          <Icon name={icon} />
          {named ? label : null}
        </button>
      ))}
    </span>
  );
}
