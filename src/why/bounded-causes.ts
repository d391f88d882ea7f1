/** Limits the size of an explanation: objects may have thousands of containers and ports, and messages of any length. Pure. */
import { clipText } from '../base/clip-text.ts';
import type { Cause } from './explanation.ts';

const MAX_FACTS = 10;
const MAX_CHARS = 1000;

/** The first `max` causes of the chains, with facts of limited length. The causes behind a cause come before its neighbours. */
export function boundedCauses(causes: readonly Cause[], max: number): readonly Cause[] {
  let left = max;
  const bounded = (all: readonly Cause[]): readonly Cause[] => {
    const shown: Cause[] = [];
    for (const one of all) {
      if (left <= 0) break;
      left--;
      shown.push({ ...withBoundedTexts(one), because: bounded(one.because) });
    }
    return shown;
  };
  return bounded(causes);
}

function withBoundedTexts(one: Cause): Cause {
  const { message, facts, cure } = one;
  return {
    ...one,
    message: clipText(message, MAX_CHARS),
    facts: facts && boundedFacts(facts),
    cure: cure && { ...cure, text: clipText(cure.text, MAX_CHARS) },
  };
}

function boundedFacts(facts: readonly string[]): readonly string[] {
  const shown = facts.slice(0, MAX_FACTS).map((fact) => clipText(fact, MAX_CHARS));
  return facts.length > MAX_FACTS ? [...shown, `and ${facts.length - MAX_FACTS} more`] : shown;
}
