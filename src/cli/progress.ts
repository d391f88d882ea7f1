/** Prints the progress of a starting cluster on stderr. */
import type { ProgressLine } from '../cluster/instance/control-protocol.ts';

/** Prints a finished step. Running steps are not shown. */
export function printProgress(line: ProgressLine): void {
  if (line.done)
    process.stderr.write(`  ✓ ${line.phase.padEnd(24)} ${(line.elapsedMs / 1000).toFixed(2).padStart(6)} s\n`);
}
