/** Texts of the editor of an object. */
import { numberText } from './number-text.ts';

export const editTexts = {
  begin: 'Edit',
  help: {
    title: 'What the field at the cursor means',
    none: 'The server does not describe this kind.',
    undescribed: 'The server has no description of it.',
    values: (values: string): string => `One of: ${values}`,
    preset: (value: string): string => `Without it: ${value}`,
    required: 'required',
  },
  cancel: 'Cancel',
  editor: 'Object as YAML',
  tryFirst: 'Try on the server',
  apply: 'Apply',
  hint: 'Changes go by server-side apply: a field that is deleted here stays if another manager set it.',
  same: 'The server would change nothing.',
  wouldChange: 'The server would change this:',
  conflicts: 'Other managers set these fields:',
  takeOver: 'Take these fields over',
  omitted: (lines: number): string => `… ${numberText(lines)} unchanged lines`,
} as const;
