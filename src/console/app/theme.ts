/** Light or dark colours: the system's preference unless the user chooses. */
import { signal } from '@preact/signals';
import { readSetting, writeSetting } from './settings.ts';

export type Theme = 'system' | 'light' | 'dark';

const THEMES: readonly Theme[] = ['system', 'light', 'dark'];

export const theme = signal<Theme>(THEMES.find((one) => one === readSetting('theme')) ?? 'system');

/** Applies the current theme to the page. */
export function applyTheme(): void {
  const { documentElement } = document;
  if (theme.value === 'system') delete documentElement.dataset['theme'];
  else documentElement.dataset['theme'] = theme.value;
}

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length]!;
  writeSetting('theme', theme.value);
  applyTheme();
}
