// Makes a finding small: the fewest exchanges with which a fresh server fails in the same way, then the least of each.
import type { Exchange } from '../exchange.ts';
import type { Finding } from '../campaign.ts';
import { replay } from '../replay.ts';
import type { Target } from '../targets/target.ts';
import { deltaDebug } from './delta-debug.ts';
import { smallerExchange } from './smaller.ts';

/** Most of a shrink is starting servers; what is not small by then is kept as it is. */
const DEADLINE_MS = 120_000;

/** Exchanges with which the finding comes again; undefined when it does not. */
export async function shrink(finding: Finding, start: () => Promise<Target>): Promise<readonly Exchange[] | undefined> {
  const deadlineMs = performance.now() + DEADLINE_MS;
  let target: Target | undefined;
  const fails = async (exchanges: readonly Exchange[]): Promise<boolean> => {
    if (performance.now() > deadlineMs) return false;
    // A server that has ended, or met other exchanges in vain, is no longer a fresh one; one exchange changes little.
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
