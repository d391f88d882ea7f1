/** What a planned expression runs on. */
import { chargeWork } from '../meter.ts';
import { Failure, FunctionError } from './values.ts';

/** Values of variables by name. */
export type Activation = Readonly<Record<string, unknown>>;

/** Variables from outside, and slots for those that loops make. */
export interface Env {
  readonly activation: Activation;
  readonly slots: unknown[];
}

/** Evaluates a node. Failures are values; only a passed limit is thrown. */
export type Step = (env: Env) => unknown;

/** A node ready to run. */
export interface Plan {
  readonly step: Step;
  readonly constant?: { readonly value: unknown };
}

/** Throwing and catching takes so much. */
const FAILURE_WORK = 40;

/** A library's function with its failure as a value. */
export function guarded<T>(run: () => T): T | Failure {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof FunctionError)) throw error;
    chargeWork(FAILURE_WORK);
    return new Failure(error.message);
  }
}
