/** Expectations of scenarios about explanations. */
import type { AccessWords } from '../why/access/access-request.ts';
import { firstCauses, objectText } from '../why/explanation.ts';
import { explanationText } from '../why/text.ts';
import type { Cluster } from './cluster.ts';
import { described, fields, listOf, meant, text } from './scenario-shape.ts';

export interface WhyExpectation {
  /** The object to explain. */
  readonly of?: string;
  /** The right to explain. */
  readonly can?: AccessWords;
  readonly state?: string;
  /** The code of the first cause; `none` for an object without causes. */
  readonly cause?: string;
  /** The object with the fault. */
  readonly at?: string;
  /** Text that the formatted explanation contains. */
  readonly says?: string;
  /** Text that the formatted explanation does not contain. */
  readonly omits?: string;
  /** Text that the cure of the first cause, or its command, contains. */
  readonly cure?: string;
}

const canShape = fields(
  { user: text, verb: text, resource: text, namespace: text, groups: listOf(text), subresource: text },
  ['user', 'verb', 'resource'],
);

/** The shape of `expect: { why: ... }`. */
export const whyShape = meant(
  fields({
    of: described('The object that is asked about: `KIND/NAME`.', text),
    can: described('The right that is asked about.', canShape),
    state: described('State of the object.', text),
    cause: described('Code of the first cause, such as `SecretMissing`; `none` for an object without causes.', text),
    at: described('The object at fault.', text),
    cure: described('Text that the cure of the first cause, or its command, contains.', text),
    says: described('Text that the answer for people contains.', text),
    omits: described('Text that the answer for people does not contain.', text),
  }),
  (why) => {
    if ((why['of'] === undefined) === (why['can'] === undefined)) return 'asks of an object or of a right: of or can';
    return Object.keys(why).length === 1 ? 'says nothing of the answer, such as cause: SecretMissing' : undefined;
  },
  { minProperties: 2 },
);

/** Checks the current explanation. */
export async function expectWhy(cluster: Cluster, expectation: WhyExpectation): Promise<void> {
  const { of: object = '', can, state, cause, at, cure, says, omits } = expectation;
  const explanation = await (can === undefined ? cluster.why(object) : cluster.whyCan(can));
  const asked = can === undefined ? object : `can ${can.user} ${can.verb} ${can.resource}`;
  const first = firstCauses(explanation.causes)[0];
  const demand = (holds: boolean, what: string): void => {
    if (!holds) throw new Error(`why ${asked}: ${what} expected; the answer is:\n${explanationText(explanation)}`);
  };
  if (state !== undefined) demand(explanation.state === state, `state ${state}`);
  if (cause !== undefined) demand((first?.code ?? 'none') === cause, `first cause ${cause}`);
  if (at !== undefined) demand(first !== undefined && objectText(first.object) === at, `object at fault ${at}`);
  const help = `${first?.cure?.text ?? ''}\n${first?.cure?.command ?? ''}`;
  if (says !== undefined) demand(explanationText(explanation).includes(says), `"${says}" in the answer`);
  if (omits !== undefined) demand(!explanationText(explanation).includes(omits), `"${omits}" not in the answer`);
  if (cure !== undefined) demand(help.includes(cure), `a cure with "${cure}"`);
}
