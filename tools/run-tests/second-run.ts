// The second run of failed test files: each alone, when they are few. On a busy machine one file of hundreds fails now and then;
// what fails twice, or many at once, is broken.
import type { TestTotals } from './reporter.ts';
import type { Stage } from './stages.ts';

/** The number of failed files of a stage up to which they are run again. */
const FEW = 3;

/** What a stage's result becomes when every failed file passed alone. */
export interface PassedAgain {
  readonly outcome: 'passed';
  readonly totals: TestTotals;
  readonly passedAgain: readonly string[];
}

/**
 * Runs the failed files of a stage once more, one after the other.
 *
 * @returns undefined when one fails again, when they are more than a few, or when the failure belongs to no file
 */
export async function runAgain(
  stage: Stage,
  totals: TestTotals | undefined,
  run: (file: string, args: readonly string[]) => Promise<boolean>,
): Promise<PassedAgain | undefined> {
  const failedFiles = totals?.failedFiles ?? [];
  if (!totals || !stage.alone || failedFiles.length === 0 || failedFiles.length > FEW) return undefined;
  for (const file of failedFiles) {
    if (!stage.files?.includes(file)) return undefined;
    if (!(await run(file, stage.alone(file)))) return undefined;
  }
  const passed = totals.passed + totals.failed;
  return { outcome: 'passed', totals: { ...totals, passed, failed: 0 }, passedAgain: failedFiles };
}

/** The lines about files that passed at the second run; empty when none did. */
export function againText(files: readonly string[]): string {
  return files.length === 0 ? '' : `failed first and passed alone, so look for the cause:\n  ${files.join('\n  ')}\n`;
}
