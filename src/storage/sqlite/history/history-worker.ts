/** The worker thread of the history: answers one question after the other. */
import { parentPort } from 'node:worker_threads';
import { storeErrorOf } from '../errors.ts';
import { HistoryAnswers } from './answer.ts';
import type { HistoryCall } from './history-protocol.ts';

const port = parentPort!;
const answers = new HistoryAnswers();

port.on('message', (call: HistoryCall) => {
  try {
    const answer = answers.answer(call);
    const { values } = answer as { values?: Uint8Array<ArrayBuffer> };
    port.postMessage({ id: call.id, answer }, values === undefined ? [] : [values.buffer]);
  } catch (error) {
    const { code, message } = storeErrorOf(error, call.op);
    port.postMessage({ id: call.id, error: { code, message } });
  }
  if (call.op === 'close') port.close();
});
