/** The worker thread of the SQLite store: answers requests in order on its single connection. */
import { parentPort } from 'node:worker_threads';
import { StoreError } from '../store.ts';
import { StoreDatabase } from './database.ts';
import { storeErrorOf } from './errors.ts';
import { createScanPace } from './scan-pace.ts';
import type { WireCall, WireReply } from './protocol.ts';

const port = parentPort!;
let database: StoreDatabase | undefined;

function answerCall(call: WireCall): object | Promise<object> {
  if (call.op === 'open') {
    database = new StoreDatabase(call.request.path, call.request);
    return database.opened();
  }
  if (database === undefined) throw new StoreError('closed', 'the store is not open');
  switch (call.op) {
    case 'write':
      return database.write(call.request);
    case 'range':
      return database.range(call.request);
    case 'scan': {
      const mayGo = createScanPace(call.request.taken);
      return database.scan(call.request, (page) => {
        if (!mayGo()) return false;
        port.postMessage({ id: call.id, page } satisfies WireReply, [page.values.buffer, page.numbers.buffer]);
        return true;
      });
    }
    case 'events':
      return database.events(call.request);
    case 'compact':
      return database.compact(call.request);
    case 'beginLog':
      return database.beginLog(call.request);
    case 'readLog':
      return database.readLog(call.request);
    case 'shrink':
      return database.shrink();
    case 'status':
      return database.status();
    case 'backup':
      return database.backupTo(call.request.path).then(() => ({}));
    case 'close':
      database.close();
      database = undefined;
      return {};
  }
}

function errorReply(call: WireCall, error: unknown): WireReply {
  const { code, message } = storeErrorOf(error, call.op);
  return { id: call.id, error: { code, message } };
}

function replyTo(call: WireCall): WireReply | Promise<WireReply> {
  try {
    const answered = answerCall(call);
    if (!(answered instanceof Promise)) return { id: call.id, answer: answered };
    return answered.then(
      (later): WireReply => ({ id: call.id, answer: later }),
      (error: unknown) => errorReply(call, error),
    );
  } catch (error) {
    return errorReply(call, error);
  }
}

/** Everything but backups is answered synchronously. */
port.on('message', (call: WireCall) => {
  const fail = (error: unknown): void => send(call, errorReply(call, error));
  try {
    const replied = replyTo(call);
    if (replied instanceof Promise) replied.then((message) => send(call, message)).catch(fail);
    else send(call, replied);
  } catch (error) {
    fail(error); // the answer could not be sent
  }
});

function send(call: WireCall, message: WireReply): void {
  const values = 'answer' in message ? (message.answer as { values?: Uint8Array<ArrayBuffer> }).values : undefined;
  port.postMessage(message, values === undefined ? [] : [values.buffer]);
  if (call.op === 'close') port.close();
}
