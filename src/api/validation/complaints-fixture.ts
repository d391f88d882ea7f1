/** What a validation finds wrong, as texts: the field's path and the message. */
import { Field } from '../field-error.ts';

export function complaints(check: (field: Field) => void): string[] {
  const field = Field.root();
  check(field);
  return field.errors.map((error) => `${error.field}: ${error.text}`);
}
