/** The order of keys: their UTF-8 bytes, which differs from JavaScript's own where surrogate pairs meet U+E000-U+FFFF. */

/** Below 0 when `a` comes before `b` in UTF-8 byte order. */
export function compareKeys(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  let index = 0;
  while (index < length && a.charCodeAt(index) === b.charCodeAt(index)) index++;
  if (index === length) return a.length - b.length;
  return byteRank(a.charCodeAt(index)) - byteRank(b.charCodeAt(index));
}

/** Whether [start, end) holds the key; `end` '' means: start alone. */
export function inRange(key: string, start: string, end: string): boolean {
  if (end === '') return key === start;
  return compareKeys(key, start) >= 0 && compareKeys(key, end) < 0;
}

function byteRank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit >= 0xe000 ? unit - 0x800 : unit + 0x2000;
}
