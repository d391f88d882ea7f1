/** Functions that search in texts. Upstream: cel-go common/stdlib (contains, startsWith, endsWith). */
import { indexIn } from '../../../base/text-search.ts';
import type { Declarations } from '../types/declarations.ts';

export function defineTextTests(declarations: Declarations): void {
  declarations.define({
    'string.contains(string): bool': (text: string, part: string) => indexIn(text, part) >= 0,
    'string.endsWith(string): bool': (text: string, part: string) => text.endsWith(part),
    'string.startsWith(string): bool': (text: string, part: string) => text.startsWith(part),
  });
}
