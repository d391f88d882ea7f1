/**
 * Parses queries: anything but a plain question is distinguished here, so that the server can respond with the right
 * code. Pure. Responses are parsed by dns-packet; queries by hand, since dns-packet throws for malformed questions,
 * which need a response with the right code.
 */
import { typeName } from './record-types.ts';

/** A query that can be answered. */
export interface Query {
  readonly id: number;
  /** Recursion desired, checking disabled: copied into the response. */
  readonly copiedFlags: number;
  /** Lower case, without the trailing dot. */
  readonly name: string;
  readonly type: string;
  /** The question section as received, with the client's upper and lower case. */
  readonly question: Uint8Array;
  readonly edns: Edns | undefined;
}

export interface Edns {
  /** The largest UDP response it accepts. */
  readonly udpSize: number;
  readonly version: number;
  readonly dnssecOk: boolean;
}

/** Why a message cannot be answered with records. */
export interface BadQuery {
  readonly id: number;
  readonly copiedFlags: number;
  readonly opcode: number;
  readonly rcode: 'FORMERR' | 'NOTIMP' | 'REFUSED';
  /** Empty when it could not be parsed. */
  readonly question: Uint8Array;
}

const HEADER_LENGTH = 12;
const QR = 0x8000;
const RD = 0x0100;
const CD = 0x0010;
const OPT = 41;
const CLASS_IN = 1;
const CLASS_ANY = 255;
const IXFR = 251;
const AXFR = 252;
const NOTHING = new Uint8Array(0);

/** Reads a message. Undefined: not a query (too short, or itself a response), to be left unanswered. */
export function parseQuery(message: Buffer): Query | BadQuery | undefined {
  if (message.length < HEADER_LENGTH) return undefined;
  const flags = message.readUInt16BE(2);
  if ((flags & QR) !== 0) return undefined;
  const head = { id: message.readUInt16BE(0), copiedFlags: flags & (RD | CD), opcode: (flags >> 11) & 15 };
  if (head.opcode !== 0) return { ...head, rcode: 'NOTIMP', question: NOTHING };
  if (message.readUInt16BE(4) !== 1) return { ...head, rcode: 'FORMERR', question: NOTHING };
  const name = readName(message, HEADER_LENGTH);
  if (name === undefined || name.end + 4 > message.length) return { ...head, rcode: 'FORMERR', question: NOTHING };
  const end = name.end + 4;
  const question = message.subarray(HEADER_LENGTH, end);
  const [type, recordClass] = [message.readUInt16BE(name.end), message.readUInt16BE(name.end + 2)];
  const isTransfer = type === AXFR || type === IXFR;
  if (isTransfer || (recordClass !== CLASS_IN && recordClass !== CLASS_ANY))
    return { ...head, rcode: 'REFUSED', question };
  const edns = readEdns(message, end);
  if (edns === 'malformed') return { ...head, rcode: 'FORMERR', question };
  return { ...head, name: name.text, type: typeName(type), question, edns };
}

/** A name in a question, which is never compressed. Labels that contain a dot count as malformed. */
function readName(message: Buffer, start: number): { text: string; end: number } | undefined {
  let text = '';
  for (let at = start; at < message.length;) {
    const length = message[at] as number;
    if (length === 0) return { text, end: at + 1 };
    if (length > 63 || at + 1 + length > message.length || at + 1 + length - start > 254) return undefined;
    const label = message.toString('latin1', at + 1, at + 1 + length);
    if (label.includes('.')) return undefined;
    text += (text === '' ? '' : '.') + label.toLowerCase();
    at += 1 + length;
  }
  return undefined;
}

/** Finds the OPT record after the question. */
function readEdns(message: Buffer, start: number): Edns | undefined | 'malformed' {
  const records = message.readUInt16BE(6) + message.readUInt16BE(8) + message.readUInt16BE(10);
  let at = start;
  for (let i = 0; i < records; i++) {
    const nameEnd = skipName(message, at);
    if (nameEnd === undefined || nameEnd + 10 > message.length) return 'malformed';
    const type = message.readUInt16BE(nameEnd);
    if (type === OPT && nameEnd === at + 1) {
      return {
        udpSize: message.readUInt16BE(nameEnd + 2),
        version: message[nameEnd + 5] as number,
        dnssecOk: ((message[nameEnd + 6] as number) & 0x80) !== 0,
      };
    }
    at = nameEnd + 10 + message.readUInt16BE(nameEnd + 8);
    if (at > message.length) return 'malformed';
  }
  return undefined;
}

function skipName(message: Buffer, start: number): number | undefined {
  for (let at = start; at < message.length;) {
    const length = message[at] as number;
    if (length === 0) return at + 1;
    if (length >= 0xc0) return at + 2;
    at += 1 + length;
  }
  return undefined;
}
