/** The options of a shell session; a changed option starts another session. */
import type { Signal } from '@preact/signals';
import type { ComponentChildren, RefObject } from 'preact';
import { setParams } from '../../app/router.ts';
import { texts } from '../../app/texts.ts';
import type { Chosen, ShellChoice } from './choice.ts';

interface ShellBarProps {
  readonly bar: RefObject<HTMLDivElement | null>;
  readonly choice: ShellChoice;
  choose(part: Partial<Chosen>): void;
  readonly screenReader: Signal<boolean>;
  readonly children: ComponentChildren;
}

export function ShellBar({ bar, choice, choose, screenReader, children }: ShellBarProps) {
  const { terminal: words } = texts;
  const { containers, container, mode, mayAttach, command } = choice;
  return (
    <div class="shell-bar" ref={bar}>
      <select
        aria-label={words.container}
        value={container}
        onChange={({ currentTarget }) => setParams({ container: currentTarget.value })}
      >
        {containers.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      {mayAttach ? (
        <select
          aria-label={words.title}
          value={mode}
          onChange={({ currentTarget }) => choose({ mode: currentTarget.value === 'attach' ? 'attach' : 'exec' })}
        >
          <option value="exec">{words.mode.exec}</option>
          <option value="attach">{words.mode.attach}</option>
        </select>
      ) : null}
      {mode === 'attach' ? null : (
        <input
          class="mono"
          aria-label={words.command}
          placeholder={words.shells}
          spellcheck={false}
          value={command}
          onChange={({ currentTarget }) => choose({ command: currentTarget.value.trim() })}
        />
      )}
      <label>
        <input
          type="checkbox"
          checked={screenReader.value}
          onChange={({ currentTarget }) => (screenReader.value = currentTarget.checked)}
        />
        {words.screenReader}
      </label>
      {children}
    </div>
  );
}
