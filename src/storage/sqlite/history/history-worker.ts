/** The worker thread of the history: answers one question after the other. */
import { parentPort } from 'node:worker_threads';
import { storeErrorOf } from '../errors.ts';
import { HistoryAnswers } from './answer.ts';
import type { HistoryCall, Spares } from './history-protocol.ts';

/** The buffers of an answer, which are transferred. */
function buffersOf(answer: { values?: Uint8Array<ArrayBuffer>; spares?: Spares }): ArrayBuffer[] {
  const { values, spares } = answer;
  return [values?.buffer, spares?.objects, spares?.events].filter((buffer) => buffer !== undefined);
}

const port = parentPort!;
const answers = new HistoryAnswers();

port.on('message', (call: HistoryCall) => {
  try {
    const answer = answers.answer(call);
    port.postMessage({ id: call.id, answer }, buffersOf(answer));
  } catch (error) {
    const { code, message } = storeErrorOf(error, call.op);
    port.postMessage({ id: call.id, error: { code, message } });
  }
  if (call.op === 'close') port.close();
});
