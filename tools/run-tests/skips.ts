// Skipped tests with their reasons, so that missing requirements of a machine are visible.

/** A test or a suite that was skipped. */
export interface Skip {
  readonly name: string;
  /** Relative to the checkout. */
  readonly file: string;
  readonly reason: string;
}

/** The text for a test that states no reason. */
export const NO_REASON = 'no reason given';

/** A line for each reason with its tests; empty when none was skipped. */
export function skipsText(skips: readonly Skip[]): string {
  const byReason = Map.groupBy(skips, ({ reason }) => reason);
  const lines = [...byReason].toSorted().map(([reason, same]) => {
    const tests = same.map(({ name, file }) => `${name} (${file})`).toSorted();
    return `  ${reason}: ${tests.join('; ')}`;
  });
  return lines.length === 0 ? '' : `skipped:\n${lines.join('\n')}\n`;
}
