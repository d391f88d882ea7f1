/** The options of the logs page. All of them are in the address, so that a link shows the same logs. */
import { type Signal, useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { ApiError } from '../../api/http.ts';
import type { ObjectRef } from '../../api/kinds.ts';
import { kindNamed } from '../../app/cluster-state.ts';
import { setParams } from '../../app/router.ts';
import { texts } from '../../app/texts.ts';
import { downloadLogs } from './download.ts';
import { toggleFollow } from './keys.ts';
import type { Reading } from './log-pane.tsx';
import { matchText } from './log-status.tsx';
import type { LogStore } from './log-store.ts';
import type { LogSettings } from './look.ts';

interface LogBarProps {
  readonly store: LogStore;
  readonly of: ObjectRef;
  readonly settings: LogSettings;
  readonly reading: Signal<Reading>;
  readonly search: RefObject<HTMLInputElement | null>;
  readonly current: Signal<number>;
  step(by: 1 | -1): void;
}

export function LogBar({ store, of: ref, settings, reading, search, current, step }: LogBarProps) {
  const { logs: words } = texts;
  const { container, previous, wrap, times } = settings;
  const { follow } = reading.value;
  return (
    <div class="logs-bar">
      <select
        aria-label={words.container}
        value={container}
        onChange={({ currentTarget }) => setParams({ container: currentTarget.value })}
      >
        <option value="">{words.allContainers}</option>
        {[...new Set([...store.containerNames.value, ...(container === '' ? [] : [container])])].map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      <Toggle label={words.previous} on={previous} param="previous" />
      <Search {...{ store, settings, search, current, step }} />
      <Toggle label={words.wrap} on={wrap} param="wrap" off="0" />
      <Toggle label={words.times} on={times} param="times" />
      {previous ? null : (
        <button type="button" aria-pressed={follow} onClick={() => toggleFollow(reading)}>
          {follow ? words.following : words.follow}
        </button>
      )}
      <Download store={store} of={ref} previous={previous} />
    </div>
  );
}

interface ToggleProps {
  readonly label: string;
  readonly on: boolean;
  readonly param: string;
  /** The parameter's value when the option is off; absent when a missing parameter means off. */
  readonly off?: string;
}

function Toggle({ label, on, param, off }: ToggleProps) {
  const value = (checked: boolean): string => (off === undefined ? (checked ? '1' : '') : checked ? '' : off);
  return (
    <label>
      <input
        type="checkbox"
        checked={on}
        onChange={({ currentTarget }) => setParams({ [param]: value(currentTarget.checked) })}
      />
      {label}
    </label>
  );
}

type SearchProps = Pick<LogBarProps, 'store' | 'settings' | 'search' | 'current' | 'step'>;

function Search({ store, settings: { query, only }, search, current, step }: SearchProps) {
  const { logs: words } = texts;
  void store.version.value;
  const { matches } = store.search;
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === 'Enter') step(event.shiftKey ? -1 : 1);
    else if (event.key === 'Escape' && query !== '') setParams({ q: '', only: '' });
    else if (event.key === 'Escape') document.querySelector<HTMLElement>('.logs-pane')?.focus();
    else return;
    event.preventDefault();
  };
  return (
    <div class="logs-search" role="search">
      <input
        ref={search}
        type="search"
        class="mono"
        aria-label={words.search}
        placeholder={words.search}
        spellcheck={false}
        value={query}
        onInput={({ currentTarget }) => setParams({ q: currentTarget.value })}
        onKeyDown={onKey}
      />
      {query === '' ? null : (
        <>
          <output>{matchText(matches.length, matches.indexOf(current.value))}</output>
          <button type="button" class="icon" aria-label={words.keys.before} onClick={() => step(-1)}>
            ↑
          </button>
          <button type="button" class="icon" aria-label={words.keys.next} onClick={() => step(1)}>
            ↓
          </button>
          <Toggle label={words.only} on={only} param="only" />
        </>
      )}
    </div>
  );
}

function Download({ store, of: ref, previous }: Pick<LogBarProps, 'store' | 'of'> & { readonly previous: boolean }) {
  const busy = useSignal(false);
  const pods = kindNamed('pods');
  if (pods === undefined) return null;
  const download = async (): Promise<void> => {
    busy.value = true;
    const { namespace, name } = ref;
    const wanted = { pods, namespace, name, sources: store.sources.peek(), previous };
    try {
      await downloadLogs(wanted, new AbortController().signal);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      store.problem(error.message);
    } finally {
      busy.value = false;
    }
  };
  return (
    <button type="button" disabled={busy.value || store.sources.value.length === 0} onClick={() => void download()}>
      {texts.logs.download}
    </button>
  );
}
