/**
 * Encodes responses: owner names are compressed, the question is repeated with the client's upper and lower case
 * (which clients check against forgery), and a response too large for a datagram is truncated at a record with the TC
 * bit. Pure. Records are encoded by dns-packet; the message by hand, since dns-packet does not truncate at a record.
 */
import * as dnsPacket from 'dns-packet';
import type { Edns } from './query.ts';
import { RCODES, typeNumber, type Rcode } from './record-types.ts';
import type { ResourceRecord } from './resolver.ts';

export interface ResponseParts {
  readonly id: number;
  /** Flags copied from the query: recursion desired, checking disabled. */
  readonly copiedFlags: number;
  readonly opcode?: number;
  readonly rcode: Rcode;
  readonly authoritative: boolean;
  /** As received; empty when the query had none that could be parsed. */
  readonly question: Uint8Array;
  readonly answers: readonly ResourceRecord[];
  readonly authorities: readonly ResourceRecord[];
  readonly additionals: readonly ResourceRecord[];
  /** Present: an OPT record is added. */
  readonly edns: Edns | undefined;
}

/** The largest datagrams this server advertises. */
const OUR_UDP_SIZE = 1232;
const HEADER_LENGTH = 12;
const OPT_LENGTH = 11;
const CLASS_IN = 1;
const [QR, AA, TC, RA] = [0x8000, 0x0400, 0x0200, 0x0080];
const EMPTY = { answers: [], authorities: [], additionals: [] };

/** Encodes at most `limitBytes`. */
export function encodeResponse(content: ResponseParts, limitBytes: number): Buffer {
  return new ResponseWriter(content, limitBytes).write();
}

/** A response without records. */
export function encodeError(
  query: Pick<ResponseParts, 'id' | 'copiedFlags' | 'question' | 'edns'> & { readonly opcode?: number },
  rcode: Rcode,
): Buffer {
  return encodeResponse({ ...EMPTY, ...query, rcode, authoritative: false }, 512);
}

const CHUNK = Buffer.allocUnsafe(65_535);

/** One writer per response over one shared buffer, as writing is synchronous. */
class ResponseWriter {
  readonly #parts: ResponseParts;
  readonly #limit: number;
  #at = 0;
  readonly #names = new Map<string, number>();

  constructor(content: ResponseParts, limitBytes: number) {
    this.#parts = content;
    this.#limit = Math.min(limitBytes, CHUNK.length) - (content.edns === undefined ? 0 : OPT_LENGTH);
  }

  write(): Buffer {
    const { question, edns } = this.#parts;
    this.#at = HEADER_LENGTH;
    CHUNK.set(question, this.#at);
    this.#noteQuestionName(question);
    this.#at += question.length;
    const answers = this.#section(this.#parts.answers);
    const authorities = answers.whole ? this.#section(this.#parts.authorities) : { count: 0, whole: false };
    // Additional records are optional: leaving them out is no truncation.
    const additionals = authorities.whole ? this.#section(this.#parts.additionals).count : 0;
    if (edns !== undefined) this.#writeOpt(edns);
    this.#writeHeader({
      answers: answers.count,
      authorities: authorities.count,
      additionals: additionals + (edns === undefined ? 0 : 1),
      truncated: !answers.whole,
    });
    return Buffer.from(CHUNK.subarray(0, this.#at));
  }

  #section(records: readonly ResourceRecord[]): { count: number; whole: boolean } {
    for (const [count, record] of records.entries()) {
      const start = this.#at;
      if (this.#writeRecord(record)) continue;
      this.#at = start;
      for (const [name, offset] of this.#names) if (offset >= start) this.#names.delete(name);
      return { count, whole: false };
    }
    return { count: records.length, whole: true };
  }

  /** Returns false when the record does not fit. */
  #writeRecord(record: ResourceRecord): boolean {
    if (this.#at + record.name.length + 16 > this.#limit && this.#names.get(record.name) === undefined) return false;
    if (this.#at + 12 > this.#limit) return false;
    this.#writeName(record.name);
    this.#uint16(typeNumber(record.type));
    this.#uint16(CLASS_IN);
    CHUNK.writeUInt32BE(record.ttl, this.#at);
    this.#at += 4;
    if (record.type === 'A') return this.#writeIpv4(record.data as string);
    const data = dnsPacket.record(record.type).encode(record.data);
    if (this.#at + data.length > this.#limit) return false;
    CHUNK.set(data, this.#at);
    this.#at += data.length;
    return true;
  }

  #writeIpv4(address: string): boolean {
    if (this.#at + 6 > this.#limit) return false;
    this.#uint16(4);
    for (const octet of address.split('.')) CHUNK[this.#at++] = Number(octet);
    return true;
  }

  #writeName(name: string): void {
    let rest = name === '.' ? '' : name; // dns-packet's name of the root
    while (rest !== '') {
      const existing = this.#names.get(rest);
      if (existing !== undefined) return this.#uint16(0xc000 | existing);
      if (this.#at < 0x4000) this.#names.set(rest, this.#at);
      const dot = rest.indexOf('.');
      const label = dot < 0 ? rest : rest.slice(0, dot);
      CHUNK[this.#at++] = label.length;
      this.#at += CHUNK.write(label, this.#at, 'latin1');
      rest = dot < 0 ? '' : rest.slice(dot + 1);
    }
    CHUNK[this.#at++] = 0;
  }

  /** Records offsets of the question's names, to which later names point. */
  #noteQuestionName(question: Uint8Array): void {
    const labels: [offset: number, label: string][] = [];
    for (let at = 0; at < question.length && question[at] !== 0; at += 1 + (question[at] as number)) {
      labels.push([
        HEADER_LENGTH + at,
        Buffer.from(question.subarray(at + 1, at + 1 + (question[at] as number)))
          .toString('latin1')
          .toLowerCase(),
      ]);
    }
    let name = '';
    for (const [offset, label] of labels.toReversed()) {
      name = name === '' ? label : `${label}.${name}`;
      this.#names.set(name, offset);
    }
  }

  #writeOpt({ dnssecOk }: Edns): void {
    CHUNK[this.#at++] = 0;
    this.#uint16(41);
    this.#uint16(OUR_UDP_SIZE);
    CHUNK[this.#at++] = RCODES[this.#parts.rcode] >> 4;
    CHUNK[this.#at++] = 0;
    this.#uint16(dnssecOk ? 0x8000 : 0);
    this.#uint16(0);
  }

  #writeHeader(counts: { answers: number; authorities: number; additionals: number; truncated: boolean }): void {
    const { id, copiedFlags, opcode = 0, rcode, authoritative, question } = this.#parts;
    const flags =
      QR |
      RA |
      copiedFlags |
      (opcode << 11) |
      (authoritative ? AA : 0) |
      (counts.truncated ? TC : 0) |
      (RCODES[rcode] & 15);
    const head = [id, flags, question.length > 0 ? 1 : 0, counts.answers, counts.authorities, counts.additionals];
    for (const [i, value] of head.entries()) CHUNK.writeUInt16BE(value, i * 2);
  }

  #uint16(value: number): void {
    CHUNK.writeUInt16BE(value, this.#at);
    this.#at += 2;
  }
}
