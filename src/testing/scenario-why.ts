/** What scenarios expect of the answer to "why is this object as it is". */
import { firstCauses, objectText } from '../why/explanation.ts';
import { explanationText } from '../why/text.ts';
import type { Cluster } from './cluster.ts';

export interface WhyExpectation {
  /** The object that is asked about. */
  readonly of: string;
  readonly state?: string;
  /** Code of the first cause; `none` for an object without causes. */
  readonly cause?: string;
  /** The object at fault. */
  readonly at?: string;
  /** Text that the cure of the first cause, or its command, contains. */
  readonly cure?: string;
}

/** Asks now. */
export async function expectWhy(cluster: Cluster, { of, state, cause, at, cure }: WhyExpectation): Promise<void> {
  const explanation = await cluster.why(of);
  const first = firstCauses(explanation.causes)[0];
  const demand = (holds: boolean, what: string): void => {
    if (!holds) throw new Error(`why ${of}: ${what} expected; the answer is:\n${explanationText(explanation)}`);
  };
  if (state !== undefined) demand(explanation.state === state, `state ${state}`);
  if (cause !== undefined) demand((first?.code ?? 'none') === cause, `first cause ${cause}`);
  if (at !== undefined) demand(first !== undefined && objectText(first.object) === at, `object at fault ${at}`);
  const help = `${first?.cure?.text ?? ''}\n${first?.cure?.command ?? ''}`;
  if (cure !== undefined) demand(help.includes(cure), `a cure with "${cure}"`);
}
