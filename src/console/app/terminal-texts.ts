/** Texts of the shell. */
import { numberText } from './number-text.ts';

export const terminalTexts = {
  title: 'Shell',
  label: 'Terminal',
  container: 'Container',
  mode: { exec: 'Shell', attach: 'Attach to its process' },
  command: 'Command',
  shells: 'bash, else sh',
  open: 'Open again',
  mayNot: 'You may not run commands in this pod.',
  end: 'End',
  again: 'Enter opens another one',
  leave: 'Ctrl+Shift+Space leaves the terminal',
  screenReader: 'For screen readers',
  states: {
    opening: 'opening',
    open: 'open',
    ended: 'The session has ended.',
    exit: (code: string): string => `The session has ended with exit code ${code}.`,
    lost: (reason: string): string => `The connection was lost. How the command ended is not known. ${reason}`,
    noShell: (container: string): string =>
      `The image of ${container} has no shell. kubectl debug adds a container that has one.`,
    notRunning: (container: string): string => `${container} does not run.`,
  },
  skipped: (bytes: number): string => `${numberText(bytes)} bytes came too fast and were left out`,
} as const;
