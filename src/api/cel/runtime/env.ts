/** The environment that a planned expression runs in. */
import { chargeWork } from '../meter.ts';
import { Failure, FunctionError } from './values.ts';

/** Values of variables by name. */
export type Activation = Readonly<Record<string, unknown>>;

/** Variables from outside, and slots for the variables of loops. */
export interface Env {
  readonly activation: Activation;
  readonly slots: unknown[];
}

/** Evaluates a node. Failures are returned as values; only an exceeded limit is thrown. */
export type Step = (env: Env) => unknown;

/** A node that is ready to run. */
export interface Plan {
  readonly step: Step;
  readonly constant?: { readonly value: unknown };
}

/** Units of work for throwing and catching an error. */
const FAILURE_WORK = 40;

/** Runs a library function and returns its error as a value. */
export function guarded<T>(run: () => T): T | Failure {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof FunctionError)) throw error;
    chargeWork(FAILURE_WORK);
    return new Failure(error.message);
  }
}
