import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as dnsPacket from 'dns-packet';
import type { Clock } from '../platform/clock.ts';
import { decodeInSteps } from './decode-in-steps.ts';

const question = { name: 'a.example', type: 'A', class: 'IN' };

function countingClock(): { readonly clock: Clock; turns: number } {
  const counting = { turns: 0, clock: { yield: async () => void counting.turns++ } as Partial<Clock> as Clock };
  return counting;
}

test('an answer is decoded as dns-packet decodes it', async () => {
  const record = { name: 'a.example', type: 'A', ttl: 5, class: 'IN', flush: false, data: '10.0.0.1' };
  const authority = { ...record, name: 'example', type: 'NS', data: 'ns.example' };
  const message = dnsPacket.encode({
    type: 'response',
    id: 7,
    questions: [question],
    answers: [record, record],
    authorities: [authority],
    additionals: [{ type: 'OPT', name: '.', udpPayloadSize: 1232, flags: 0, options: [] }],
  });
  assert.deepEqual(await decodeInSteps(message, countingClock().clock), dnsPacket.decode(message));
});

test('thousands of records whose names are long chains of pointers are decoded in turns', async () => {
  const head = dnsPacket.encode({ type: 'response', id: 7, questions: [question] });
  const pointers = Buffer.alloc(16_000);
  const first = head.length + 12;
  for (let at = 0; at < pointers.length; at += 2) pointers.writeUInt16BE(0xc000 | (at === 0 ? 12 : first + at - 2), at);
  const recordOf = (name: number, type: number, data: Buffer): Buffer => {
    const record = Buffer.alloc(12 + data.length);
    record.writeUInt16BE(0xc000 | name, 0);
    record.writeUInt16BE(type, 2);
    record.writeUInt16BE(1, 4);
    record.writeUInt16BE(data.length, 10);
    record.set(data, 12);
    return record;
  };
  const chained = recordOf(first + pointers.length - 2, 1, Buffer.from([10, 0, 0, 1]));
  const message = Buffer.concat([head, recordOf(12, 65_280, pointers), ...Array.from({ length: 320 }, () => chained)]);
  message.writeUInt16BE(321, 6);
  const counting = countingClock();
  const { answers } = await decodeInSteps(message, counting.clock);
  assert.equal(answers.length, 321);
  assert.equal(answers.at(-1)?.name, 'a.example');
  assert.equal(counting.turns, 10);
});

test('malformed messages and answers to several questions are refused', async () => {
  const { clock } = countingClock();
  const two = dnsPacket.encode({ type: 'response', id: 7, questions: [question, question] });
  await assert.rejects(decodeInSteps(two, clock), /other than one question/);
  const cut = dnsPacket.encode({ type: 'response', id: 7, questions: [question] });
  cut.writeUInt16BE(65_535, 6);
  await assert.rejects(decodeInSteps(cut, clock));
});
