/** Keyboard shortcuts of the logs page. */
import type { Signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect } from 'preact/hooks';
import { bindKeys } from '../../app/keyboard.ts';
import { setParams } from '../../app/router.ts';
import { texts } from '../../app/texts.ts';
import type { Reading } from './log-pane.tsx';
import type { LogSettings } from './look.ts';

interface LogKeys {
  readonly settings: LogSettings;
  readonly reading: Signal<Reading>;
  readonly search: RefObject<HTMLInputElement | null>;
  step(by: 1 | -1): void;
}

export function useLogKeys({ settings: { wrap, times, query }, reading, search, step }: LogKeys): void {
  const { keys } = texts.logs;
  useEffect(
    () =>
      bindKeys([
        { key: '/', label: keys.search, run: () => search.current?.select() },
        { key: 'n', label: keys.next, run: () => step(1) },
        { key: 'N', label: keys.before, run: () => step(-1) },
        { key: 'f', label: keys.follow, run: () => toggleFollow(reading) },
        { key: 'g', label: keys.oldest, run: () => (reading.value = { follow: false, number: 0, offset: 0 }) },
        { key: 'G', label: keys.newest, run: () => (reading.value = { ...reading.peek(), follow: true }) },
        { key: 'w', label: keys.wrap, run: () => setParams({ wrap: wrap ? '0' : '' }) },
        { key: 't', label: keys.times, run: () => setParams({ times: times ? '' : '1' }) },
        ...(query === '' ? [] : [{ key: 'Escape', label: keys.clear, run: () => setParams({ q: '', only: '' }) }]),
      ]),
    [wrap, times, query],
  );
}

/** A reader who stops following stays at the newest line until another one arrives. */
export function toggleFollow(reading: Signal<Reading>): void {
  const { follow } = reading.peek();
  reading.value = follow
    ? { follow: false, number: Number.MAX_SAFE_INTEGER, offset: 0 }
    : { ...reading.peek(), follow: true };
}
