/** The memory of compiled regular expressions, for caches of them. */
import { compileSize } from './re2-compile-size.ts';
import { programSize } from './re2-size.ts';

/** Instructions of all programs that one cache keeps: some 120 MB. The largest program is a 64th. */
export const MAX_KEPT_SIZE = 1_280_000;

/** Classes of thousands of ranges take memory too, a quarter of what they count when they are compiled. */
export function keptSize(pattern: string): number {
  return Math.max(programSize(pattern), Math.ceil(compileSize(pattern) / 4));
}
