/** Tests of texts. Upstream: cel-go common/stdlib (contains, startsWith, endsWith). */
import type { Declarations } from '../types/declarations.ts';

export function defineTextTests(declarations: Declarations): void {
  declarations.define({
    'string.contains(string): bool': (text: string, part: string) => text.includes(part),
    'string.endsWith(string): bool': (text: string, part: string) => text.endsWith(part),
    'string.startsWith(string): bool': (text: string, part: string) => text.startsWith(part),
  });
}
