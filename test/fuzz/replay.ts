// Sends exchanges one after the other, to shrink a finding or to check a regression.
import type { Exchange } from './exchange.ts';
import { judgeAnswer, type Problem } from './oracles/answers.ts';
import { stacksIn } from './oracles/log.ts';
import type { Target } from './targets/target.ts';
import { Transports } from './transports/transports.ts';

/** The problems that they cause on a server that may have received others before. */
export async function replay(target: Target, exchanges: readonly Exchange[]): Promise<readonly Problem[]> {
  const transports = new Transports(target);
  const problems: Problem[] = [];
  const logged = target.log().length;
  try {
    await target.checks.prepare();
    for (const exchange of exchanges) {
      const problem = judgeAnswer(exchange, await transports.send(exchange), target.peers !== undefined);
      if (problem !== undefined) problems.push(problem);
    }
    await target.checks.serves();
  } catch (error) {
    const ended = target.ended();
    problems.push(
      ended === undefined
        ? { signature: 'the well-behaved client', detail: String(error) }
        : { signature: 'the process ended', detail: `${ended}\n${target.log().slice(-3000)}` },
    );
  } finally {
    transports.close();
  }
  return [...problems, ...stacksIn(target.log().slice(logged))];
}
