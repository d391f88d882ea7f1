/** Texts of a container's files. */
import { numberText } from './number-text.ts';

export const filesTexts = {
  title: 'Files',
  folder: 'Files of the folder',
  path: 'Path',
  name: 'Name',
  size: 'Size',
  modified: 'Changed',
  mode: 'Mode',
  owner: 'Owner',
  save: 'Save',
  saveTar: 'Save as tar',
  stop: 'Stop',
  empty: 'The folder is empty.',
  more: (shown: number, all: number): string => `The first ${numberText(shown)} of ${numberText(all)}.`,
  missing: (program: string): string => `The image has no ${program}, which this needs, as kubectl cp needs tar.`,
  tooLong: (mebibytes: number): string =>
    `It has more than ${mebibytes} MiB, which a browser does not take: use kubectl cp.`,
} as const;
