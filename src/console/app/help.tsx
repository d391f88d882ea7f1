/** The list of keyboard shortcuts of the current view. */
import { signal } from '@preact/signals';
import { Dialog } from '../parts/dialog.tsx';
import { activeKeys } from './keyboard.ts';
import { texts } from './texts.ts';

/** The names of keys as printed on keyboards. */
const NAMES: Readonly<Record<string, string>> = {
  ArrowDown: '↓',
  ArrowUp: '↑',
  ArrowLeft: '←',
  ArrowRight: '→',
  PageDown: 'Page ↓',
  PageUp: 'Page ↑',
  Escape: 'Esc',
};

export const helpOpen = signal(false);

export function HelpDialog() {
  return (
    <Dialog open={helpOpen} title={texts.keys.title} class="help">
      <Keys />
    </Dialog>
  );
}

function Keys() {
  return (
    <dl class="keys">
      {activeKeys().map(({ key, label }) => (
        <div key={key}>
          <dt>
            <kbd>{NAMES[key] ?? key}</kbd>
          </dt>
          <dd>{label}</dd>
        </div>
      ))}
    </dl>
  );
}
