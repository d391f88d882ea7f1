// The log must have no stack traces: input of clients is never an unexpected error.
import type { Problem } from './answers.ts';

/** Stack traces in the process's output, one problem for each place. */
export function stacksIn(log: string): Problem[] {
  const found = new Map<string, Problem>();
  for (const line of log.split('\n')) {
    // A frame ends with a place in a file; names of plugins may contain lines that begin like one.
    const at = /(?:\\n|^)\s+at [^\\]*?(?::\d+:\d+|<anonymous>)\)?(?:\\n|"|$)/.exec(line);
    if (at === null) continue;
    const signature = `stack in the log: ${at[0]
      .replaceAll(/[:\d]+/g, '')
      .trim()
      .slice(0, 120)}`;
    if (!found.has(signature)) found.set(signature, { signature, detail: line.slice(0, 1500) });
  }
  return [...found.values()];
}
