/** Texts of a replayed run. */
export const replayTexts = {
  title: (name: string, seed: number): string => `Replay: ${name} (seed ${seed})`,
  region: 'Replay',
  passed: 'passed',
  failedAt: (step: number): string => `failed at step ${step}`,
  step: 'Step of the run',
  before: 'Step before',
  next: 'Next step',
  begins: 'before the first step',
  option: (after: string, step: number, text: string): string => `+${after} · step ${step} · ${text}`,
  whole: 'The whole failure',
  note: (text: string): string => `Note: ${text}`,
} as const;

/** Texts about files of recorded runs. */
export const replayFileTexts = {
  file: 'File of a scenario or a replay',
  choose: 'Open a replay file',
  running: (name: string): string => (name === '' ? 'Reading the file' : `Repeating ${name}`),
  passed: (name: string): string => `${name}: passed`,
  failed: (name: string): string => `${name}: failed`,
  refused: (message: string): string => `The file cannot be opened: ${message}`,
  show: 'Show it',
  end: 'End it',
} as const;
