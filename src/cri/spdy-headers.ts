/**
 * Headers of SPDY/3.1 streams. One zlib stream with the protocol's own dictionary runs through all header blocks of a
 * connection, each flushed to a whole byte. Specified in: SPDY Protocol, Draft 3.1, section 2.6.10. By hand: no maintained
 * library for Node.js speaks SPDY.
 */
import type { InflateRaw } from '../platform/compression.ts';

const WORDS =
  'options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow authorization cache-control connection content-base content-encoding content-language content-length content-location content-md5 content-range content-type date etag expect expires from host if-match if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade user-agent vary via warning www-authenticate method get status|200 OK|version|HTTP/1.1|url public set-cookie keep-alive origin';
const CODES =
  '100 101 201 202 205 206 300 302 303 304 305 306 307 402 405 406 407 408 409 410 411 412 413 414 415 416 417 502 504 505';
const PHRASES =
  '203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.';

function dictionary(): Buffer {
  const head = WORDS.split('|').flatMap((part, at) => (at % 2 === 0 ? part.trim().split(' ') : [part]));
  const sized = head.map((word) => `\0\0\0${String.fromCharCode(word.length)}${word}`).join('');
  return Buffer.from(sized + CODES.replaceAll(' ', '') + PHRASES, 'latin1');
}

/** zlib's head with the checksum of its dictionary. */
const ZLIB_HEAD_BYTES = 6;
/** How far back deflate data may refer. */
const WINDOW_BYTES = 32 * 1024;

/** The limit of an inflated header block. Clients of Kubernetes send some 100 bytes; a frame of 1 MiB could hold 1 GiB of zeros. */
const MAX_BLOCK_BYTES = 8 * 1024;

/** Reads the header blocks of one connection, in their order. Throws Error on invalid input. */
export function createHeaderReader(inflate: InflateRaw): (block: Uint8Array) => ReadonlyMap<string, string> {
  const inflater = createHeaderInflater(inflate);
  return (block) => parse(inflater(block));
}

/** The same, not read: number of headers, and lengths and texts, which fill the block. */
export function createHeaderInflater(inflate: InflateRaw): (block: Uint8Array) => Buffer {
  let before = dictionary();
  let isFirst = true;
  return (block) => {
    const bytes = Buffer.from(inflate(isFirst ? block.subarray(ZLIB_HEAD_BYTES) : block, before, MAX_BLOCK_BYTES));
    isFirst = false;
    before = Buffer.concat([before, bytes]).subarray(-WINDOW_BYTES);
    parse(bytes);
    return bytes;
  };
}

function parse(bytes: Buffer): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  let at = 0;
  const number = (): number => {
    at += 4;
    if (at > bytes.length) throw new Error('a header block ends within a number');
    return bytes.readUInt32BE(at - 4);
  };
  const text = (): string => {
    const length = number();
    at += length;
    if (at > bytes.length) throw new Error('a header block ends within a text');
    return bytes.toString('utf8', at - length, at);
  };
  for (let left = number(); left > 0; left--) headers.set(text(), text());
  if (at !== bytes.length) throw new Error('a header block goes on after its headers');
  return headers;
}
