/** Asks the running instance of a data directory. Nothing in an answer is taken for a path. */
import { createConnection } from 'node:net';
import { controlDirOf, socketAddress } from './control-place.ts';

/** Sends one command and returns the first line of the answer; undefined when no instance runs. */
export async function requestControl(
  dataDir: string,
  command: 'pid' | 'stop' | 'status' | 'snapshot' | `node ${string} ${string}`,
): Promise<object | undefined> {
  for await (const line of controlLines(dataDir, command)) return line;
  return undefined;
}

/** Sends one command and yields the answer's lines; none when no instance runs. Throws `PreflightError` for another user's. */
export async function* controlLines(dataDir: string, command: string): AsyncGenerator<object> {
  const dir = controlDirOf(dataDir);
  if (dir === undefined) return;
  const address = socketAddress(dir);
  const socket = createConnection({ path: address.path });
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
