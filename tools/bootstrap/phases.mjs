// Timed set-up phases of the bootstrap. Plain JavaScript for Node >= 20, because it runs before anything is installed.
export { SetupError, runProgram } from '../../bin/fetch/run-program.mjs';

/**
 * Collects what each phase did and how long it took.
 * @param {{ log?: (line: string) => void, now?: () => number }} [options] `now` in milliseconds
 */
export function createPhases({ log = (line) => console.error(line), now = () => performance.now() } = {}) {
  /** @type {{ name: string, result: string, durationMs: number }[]} */
  const done = [];
  return {
    done,
    /** Runs `work`, which returns what it did in a few words; for '' nothing is printed. */
    async run(name, work) {
      const startedMs = now();
      const result = await work((line) => log(`· ${name}: ${line}`));
      if (result === '') return;
      const durationMs = now() - startedMs;
      done.push({ name, result, durationMs });
      log(`✓ ${name}: ${result} (${formatSeconds(durationMs)})`);
    },
  };
}

/** Milliseconds as seconds with one decimal: `3.2 s`. */
function formatSeconds(durationMs) {
  return `${(durationMs / 1000).toFixed(1)} s`;
}
