/** Orders texts by their UTF-16 code units, as `<` does. Go compares bytes: both agree but for code points above U+FFFF. */
export function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
