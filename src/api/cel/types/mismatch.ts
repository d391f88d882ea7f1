/** The issue about a value whose type differs from the expected one. */
import { type Issue, report } from '../language/source.ts';
import { type Type, typeText } from './type.ts';

export function reportMismatch(issues: Issue[], at: number, [expected, found]: readonly [Type, Type]): void {
  report(issues, at, () => `expected type '${typeText(expected)}' but found '${typeText(found)}'`);
}
