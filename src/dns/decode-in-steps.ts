/**
 * Decodes a response record by record, with yields: a name may be a chain of pointers, which dns-packet follows one
 * by one, and a message of 64 KB may have thousands of such records.
 */
import * as dnsPacket from 'dns-packet';
import type { Clock } from '../platform/clock.ts';

/** Records decoded between two yields. */
const STEP = 32;
/** Offsets of the three record counts in the header. */
const COUNTS = [6, 8, 10] as const;

/** As dns-packet's `decode`; rejects where that throws. */
export async function decodeInSteps(message: Uint8Array, clock: Clock): Promise<dnsPacket.Packet> {
  const bytes = Buffer.from(message.buffer, message.byteOffset, message.length);
  const { packet, end } = decodeHead(bytes);
  const sections: dnsPacket.Record[][] = [];
  let at = end;
  let done = 0;
  for (const count of COUNTS) {
    const records: dnsPacket.Record[] = [];
    for (let i = bytes.readUInt16BE(count); i > 0; i--) {
      if (++done % STEP === 0) await clock.yield();
      records.push(dnsPacket.answer.decode(bytes, at));
      at += dnsPacket.answer.decode.bytes;
    }
    sections.push(records);
  }
  const [answers = [], authorities = [], additionals = []] = sections;
  return { ...packet, answers, authorities, additionals };
}

/** The message without its records; a response repeats the single question. */
function decodeHead(bytes: Buffer): { readonly packet: dnsPacket.Packet; readonly end: number } {
  if (bytes.readUInt16BE(4) !== 1) throw new Error('an answer with other than one question');
  const head = Buffer.from(bytes);
  head.fill(0, COUNTS[0], 12);
  const packet = dnsPacket.decode(head);
  return { packet, end: dnsPacket.decode.bytes };
}
