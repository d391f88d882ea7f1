/** Sends commands to the running instance of a data directory. Nothing in a response is used as a path. */
import { createConnection } from 'node:net';
import { PreflightError } from '../preflight-error.ts';
import { controlDirOf, socketAddress } from './control-place.ts';

/** The instance exists and does not answer: it hangs or is stopped by a signal or a freezer. */
export class NoAnswerError extends PreflightError {}

type ControlCommand = 'pid' | 'stop' | 'status' | 'snapshot' | `node ${string} ${string}`;

/** For commands that are answered without further work. */
const ANSWER_TIMEOUT_MS = 15_000;
const TIMEOUTS_MS: Readonly<Partial<Record<string, number>>> = { pid: ANSWER_TIMEOUT_MS, stop: ANSWER_TIMEOUT_MS };

/**
 * Sends a command and returns the first line of the response; undefined when no instance runs. Throws
 * `PreflightError` for a timeout; 0 waits for ever.
 */
export async function requestControl(
  dataDir: string,
  command: ControlCommand,
  timeoutMs = TIMEOUTS_MS[command] ?? 0,
): Promise<object | undefined> {
  for await (const line of controlLines(dataDir, command, timeoutMs)) return line;
  return undefined;
}

/** Whether an instance runs on a data directory, including one that does not answer. */
export async function isInstanceThere(dataDir: string, timeoutMs = ANSWER_TIMEOUT_MS): Promise<boolean> {
  try {
    return (await requestControl(dataDir, 'pid', timeoutMs)) !== undefined;
  } catch (error) {
    if (error instanceof NoAnswerError) return true;
    throw error;
  }
}

/**
 * Sends a command and yields the lines of the response; none when no instance runs. Throws `PreflightError` for
 * another user's instance.
 */
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
