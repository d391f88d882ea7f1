// Changes of bytes without regard to their meaning.
import { pick, type Random } from '../draw.ts';
import { textOf } from '../exchange.ts';

/** Sequences that are not UTF-8: overlong, surrogates, truncated, beyond U+10FFFF; and byte order marks of other encodings. */
const sequences = [
  '\xc0\x80',
  '\xed\xa0\x80',
  '\xe2\x82',
  '\xf4\x90\x80\x80',
  '\xff\xfe',
  '\xef\xbb\xbf',
  '\x80',
  '\0',
  '\x1f\x8b',
];

/** `times` small changes of bytes written as latin1 text. */
export function mutateBytes(random: Random, bytes: string, times: number): string {
  let out = bytes;
  for (let count = 0; count < times; count++) {
    const at = random.int(out.length + 1);
    const [head, tail] = [out.slice(0, at), out.slice(at)];
    switch (random.int(6)) {
      case 0:
        out = head;
        break;
      case 1:
        out = head + pick(random, sequences) + tail;
        break;
      case 2:
        out = head + String.fromCharCode(random.int(256)) + tail.slice(1);
        break;
      case 3:
        out = head + tail.slice(random.int(8));
        break;
      case 4:
        out = head + textOf(random.bytes(1 + random.int(8))) + tail;
        break;
      default:
        out = head + head.slice(-random.int(200)) + tail;
    }
  }
  return out;
}
