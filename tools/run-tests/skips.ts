// Tests that were not run, and why: what a machine lacks must not go untested unseen.

/** A test or a suite that was skipped. */
export interface Skip {
  readonly name: string;
  /** Relative to the checkout. */
  readonly file: string;
  readonly reason: string;
}

/** What stands in place of a reason that a test does not give. */
export const NO_REASON = 'no reason given';

/** A line for each reason, with the tests it kept from running; empty when none was skipped. */
export function skipsText(skips: readonly Skip[]): string {
  const byReason = Map.groupBy(skips, ({ reason }) => reason);
  const lines = [...byReason].toSorted().map(([reason, same]) => {
    const tests = same.map(({ name, file }) => `${name} (${file})`).toSorted();
    return `  ${reason}: ${tests.join('; ')}`;
  });
  return lines.length === 0 ? '' : `skipped:\n${lines.join('\n')}\n`;
}
