/**
 * Blocks of a PEM text. Upstream: encoding/pem Decode, which takes the first END line and the last BEGIN line before it: so
 * every part of the text is read once, however many lines begin a block that never ends.
 */

export interface PemBlock {
  /** The label behind BEGIN. */
  readonly type: string;
  /** Whether lines of the form `name: value` precede the content. */
  readonly hasHeaders: boolean;
  readonly content: Uint8Array;
}

const BEGIN = '-----BEGIN ';
const END = '\n-----END ';
const DASHES = '-----';

/** The well-formed blocks, in order; whatever stands between them, or is malformed, is left out. */
export function pemBlocks(text: string): readonly PemBlock[] {
  const blocks: PemBlock[] = [];
  let from = 0;
  for (let end = text.indexOf(END); end >= 0; end = text.indexOf(END, from)) {
    // The line break before END may be the one that ends the BEGIN line.
    const before = text.slice(from, end + 1);
    from = end + END.length;
    const block = blockOf(before, text.slice(from, endOfLine(text, from)));
    if (block !== undefined) blocks.push(block);
  }
  return blocks;
}

function endOfLine(text: string, from: number): number {
  const at = text.indexOf('\n', from);
  return at < 0 ? text.length : at;
}

/** `before`: what precedes the END line, back to the one before; `ending`: the rest of the END line. */
function blockOf(before: string, ending: string): PemBlock | undefined {
  const begin = before.lastIndexOf(BEGIN);
  if (begin < 0 || (begin > 0 && before[begin - 1] !== '\n')) return undefined;
  const [first = '', ...lines] = before.slice(begin + BEGIN.length).split('\n');
  const line = first.trimEnd();
  if (!line.endsWith(DASHES) || ending.trimEnd() !== line) return undefined;
  const headers = lines.findIndex((one) => !one.includes(':'));
  const base64 = lines
    .slice(headers)
    .join('')
    .replaceAll(/[ \t\r]/g, '');
  if (base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(base64)) return undefined;
  return { type: line.slice(0, -DASHES.length), hasHeaders: headers > 0, content: Buffer.from(base64, 'base64') };
}
