/** Runs validations and returns their errors as texts: the field's path and the message. */
import { allSteps, type Steps } from '../../base/steps.ts';
import { Field } from '../field-error.ts';

/** A validation, in steps when it may take long. */
export type Check = (field: Field) => Steps<void> | void;

/** Runs all steps of a validation. */
export function validateAll(validation: Steps<void> | void): void {
  if (validation !== undefined) allSteps(validation);
}

export function complaints(check: Check): string[] {
  const field = Field.root();
  validateAll(check(field));
  return field.errors.map((error) => `${error.field}: ${error.text}`);
}
