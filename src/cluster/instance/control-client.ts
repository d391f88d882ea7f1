/** Asks the running instance of a data directory. Nothing in an answer is taken for a path. */
import { createConnection } from 'node:net';
import { PreflightError } from '../preflight-error.ts';
import { controlDirOf, socketAddress } from './control-place.ts';

/** The instance is there and answers nothing: it hangs, or a signal or a freezer holds it. */
export class NoAnswerError extends PreflightError {}

type ControlCommand = 'pid' | 'stop' | 'status' | 'snapshot' | `node ${string} ${string}`;

/** For commands that are answered before any work is done. */
const ANSWER_TIMEOUT_MS = 15_000;
const TIMEOUTS_MS: Readonly<Partial<Record<string, number>>> = { pid: ANSWER_TIMEOUT_MS, stop: ANSWER_TIMEOUT_MS };

/**
 * Sends one command and returns the first line of the answer; undefined when no instance runs. Throws `PreflightError` where one
 * does not answer in time; 0 waits for ever.
 */
export async function requestControl(
  dataDir: string,
  command: ControlCommand,
  timeoutMs = TIMEOUTS_MS[command] ?? 0,
): Promise<object | undefined> {
  for await (const line of controlLines(dataDir, command, timeoutMs)) return line;
  return undefined;
}

/** Whether an instance runs on a data directory, also one that does not answer. */
export async function isInstanceThere(dataDir: string, timeoutMs = ANSWER_TIMEOUT_MS): Promise<boolean> {
  try {
    return (await requestControl(dataDir, 'pid', timeoutMs)) !== undefined;
  } catch (error) {
    if (error instanceof NoAnswerError) return true;
    throw error;
  }
}

/** Sends one command and yields the answer's lines; none when no instance runs. Throws `PreflightError` for another user's. */
export async function* controlLines(dataDir: string, command: string, timeoutMs = 0): AsyncGenerator<object> {
  const dir = controlDirOf(dataDir);
  if (dir === undefined) return;
  const address = socketAddress(dir);
  const socket = createConnection({ path: address.path });
  socket.setTimeout(timeoutMs, () => socket.destroy(new NoAnswerError(`keelson on ${dataDir} does not answer`)));
  try {
    socket.write(`${command}\n`);
    let text = '';
    socket.setEncoding('utf8');
    for await (const chunk of socket as AsyncIterable<string>) {
      text += chunk;
      for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
        yield JSON.parse(text.slice(0, end)) as object;
        text = text.slice(end + 1);
      }
    }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'ECONNREFUSED' && code !== 'ENOENT' && code !== 'ECONNRESET' && code !== 'EPIPE') throw error;
  } finally {
    socket.destroy();
    address.close();
  }
}
