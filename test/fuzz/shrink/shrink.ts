// Shrinks a finding: first to the fewest exchanges with which a new server fails in the same way, then each exchange.
import type { Exchange } from '../exchange.ts';
import type { Finding } from '../campaign.ts';
import { replay } from '../replay.ts';
import type { Target } from '../targets/target.ts';
import { deltaDebug } from './delta-debug.ts';
import { smallerExchange } from './smaller.ts';

/** Starting servers takes most of the time; the result at the deadline is kept. */
const DEADLINE_MS = 120_000;

/** Exchanges that reproduce the finding; undefined when it cannot be reproduced. */
export async function shrink(finding: Finding, start: () => Promise<Target>): Promise<readonly Exchange[] | undefined> {
  const deadlineMs = performance.now() + DEADLINE_MS;
  let target: Target | undefined;
  const fails = async (exchanges: readonly Exchange[]): Promise<boolean> => {
    if (performance.now() > deadlineMs) return false;
    // A server that has ended, or that received other exchanges without failing, is replaced; one exchange changes little.
    if (target !== undefined && (target.ended() !== undefined || exchanges.length > 1)) {
      await target.stop();
      target = undefined;
    }
    target ??= await start();
    return (await replay(target, exchanges)).some(({ signature }) => signature === finding.signature);
  };
  try {
    if (finding.exchanges.length === 0 || !(await fails(finding.exchanges))) return undefined;
    const few = [...(await deltaDebug(finding.exchanges, fails))];
    for (const [at, exchange] of few.entries())
      few[at] = await smallerExchange(exchange, (smaller) => fails(few.with(at, smaller)));
    return few;
  } finally {
    await target?.stop();
  }
}
