/**
 * Headers of SPDY/3.1 streams, inflated. One zlib stream with the protocol's own dictionary runs through all header blocks of
 * a connection, each flushed to a whole byte; Node's zlib is the machine's, so the few lines of RFC 1951 stand here.
 * Specified in: SPDY Protocol, Draft 3.1, section 2.6.10.
 */

const words =
  'options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow authorization cache-control connection content-base content-encoding content-language content-length content-location content-md5 content-range content-type date etag expect expires from host if-match if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade user-agent vary via warning www-authenticate method get status|200 OK|version|HTTP/1.1|url public set-cookie keep-alive origin';
const codes =
  '100 101 201 202 205 206 300 302 303 304 305 306 307 402 405 406 407 408 409 410 411 412 413 414 415 416 417 502 504 505';
const phrases =
  '203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.';

function dictionary(): number[] {
  const head = words.split('|').flatMap((part, at) => (at % 2 === 0 ? part.trim().split(' ') : [part]));
  const sized = head.map((word) => `\0\0\0${String.fromCharCode(word.length)}${word}`).join('');
  return [...Buffer.from(sized + codes.replaceAll(' ', '') + phrases, 'latin1')];
}

/** zlib's head with the checksum of its dictionary. */
const zlibHeadBytes = 6;
const lengthBases = [
  3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258,
];
const lengthBits = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const distanceBases = [
  1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145,
  8193, 12289, 16385, 24577,
];
const lengthOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/** Codes of a Huffman tree by their length and bits. */
type Tree = ReadonlyMap<number, number>;

function treeOf(lengths: readonly number[]): Tree {
  const tree = new Map<number, number>();
  let code = 0;
  for (let length = 1; length <= 15; length++) {
    for (const [symbol, own] of lengths.entries()) if (own === length) tree.set((length << 16) | code++, symbol);
    code <<= 1;
  }
  return tree;
}

const fixedLiterals = treeOf(Array.from({ length: 288 }, (_, at) => (at < 144 ? 8 : at < 256 ? 9 : at < 280 ? 7 : 8)));
const fixedDistances = treeOf(Array.from({ length: 30 }, () => 5));

class Bits {
  at = 0;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get done(): boolean {
    return this.at >= this.#bytes.length * 8;
  }

  bit(): number {
    if (this.done) throw new Error('a header block that breaks off');
    const bit = (this.#bytes[this.at >> 3]! >> (this.at & 7)) & 1;
    this.at++;
    return bit;
  }

  number(count: number): number {
    let value = 0;
    for (let index = 0; index < count; index++) value |= this.bit() << index;
    return value;
  }

  symbol(tree: Tree): number {
    let code = 0;
    for (let length = 1; length <= 15; length++) {
      code = (code << 1) | this.bit();
      const symbol = tree.get((length << 16) | code);
      if (symbol !== undefined) return symbol;
    }
    throw new Error('a header block with a code that is none');
  }

  align(): void {
    this.at = (this.at + 7) & ~7;
  }
}

/** The trees a block brings along. */
function readTrees(bits: Bits): readonly [Tree, Tree] {
  const [literals, distances, count] = [bits.number(5) + 257, bits.number(5) + 1, bits.number(4) + 4];
  const short = Array.from({ length: 19 }, () => 0);
  for (const symbol of lengthOrder.slice(0, count)) short[symbol] = bits.number(3);
  const tree = treeOf(short);
  const lengths: number[] = [];
  while (lengths.length < literals + distances) {
    const symbol = bits.symbol(tree);
    const value = symbol < 16 ? symbol : symbol === 16 ? (lengths.at(-1) ?? 0) : 0;
    const times =
      symbol < 16 ? 1 : symbol === 16 ? 3 + bits.number(2) : symbol === 17 ? 3 + bits.number(3) : 11 + bits.number(7);
    for (let index = 0; index < times; index++) lengths.push(value);
  }
  return [treeOf(lengths.slice(0, literals)), treeOf(lengths.slice(literals))];
}

function inflateBlock(bits: Bits, out: number[]): void {
  bits.bit(); // Whether it is the last says nothing here.
  const kind = bits.number(2);
  if (kind === 0) {
    bits.align();
    const length = bits.number(16);
    bits.number(16);
    for (let index = 0; index < length; index++) out.push(bits.number(8));
    return;
  }
  if (kind === 3) throw new Error('a header block of no known kind');
  const [literals, distances] = kind === 1 ? [fixedLiterals, fixedDistances] : readTrees(bits);
  for (let symbol = bits.symbol(literals); symbol !== 256; symbol = bits.symbol(literals)) {
    if (symbol < 256) {
      out.push(symbol);
      continue;
    }
    const length = lengthBases[symbol - 257]! + bits.number(lengthBits[symbol - 257]!);
    const far = bits.symbol(distances);
    const distance = distanceBases[far]! + bits.number(far < 4 ? 0 : (far >> 1) - 1);
    for (let index = 0; index < length; index++) out.push(out[out.length - distance]!);
  }
}

/** Reads the header blocks of one connection, in their order. Throws Error for what is none. */
export function createHeaderReader(): (block: Uint8Array) => ReadonlyMap<string, string> {
  const out = dictionary();
  let isFirst = true;
  return (block) => {
    const start = out.length;
    const bits = new Bits(isFirst ? block.subarray(zlibHeadBytes) : block);
    isFirst = false;
    while (!bits.done) inflateBlock(bits, out);
    return parse(Buffer.from(out.slice(start)));
  };
}

function parse(bytes: Buffer): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  let at = 4;
  const text = (): string => {
    const length = bytes.readUInt32BE(at);
    at += 4 + length;
    return bytes.toString('utf8', at - length, at);
  };
  for (let left = bytes.readUInt32BE(0); left > 0; left--) headers.set(text(), text());
  return headers;
}
