/**
 * The instance's lock and control connection in one: an abstract unix socket, which the kernel frees when its process
 * ends however it ends, so that no stale lock is ever left. Whoever connects sends one JSON line and gets JSON lines back.
 */
import { createConnection, createServer, type Server, type Socket } from 'node:net';

/** What a running instance answers. */
export interface ControlHandlers {
  /** The whole status at once. */
  status(): Promise<object>;
  /** Progress lines until the instance is ready or failed; the last one says which. */
  progress(send: (line: ProgressLine) => void): () => void;
  /** Begins an orderly stop. */
  stop(): void;
  /** Makes a snapshot of the store; resolves to its file, which is the caller's to take. */
  snapshot(): Promise<string>;
}

/** A step of the start-up. */
export interface ProgressLine {
  readonly phase: string;
  readonly done: boolean;
  readonly elapsedMs: number;
  /** Set on the last line. */
  readonly outcome?: 'ready' | 'failed';
  readonly error?: string;
}

/** The held lock. */
export interface ControlLock {
  serve(handlers: ControlHandlers): void;
  release(): Promise<void>;
}

/** Someone else holds the instance. */
export class InstanceRunningError extends Error {
  readonly pid: number;
  constructor(dataDir: string, pid: number) {
    super(`another keelson runs on ${dataDir} (pid ${pid}); stop it first or use another --data-dir`);
    this.name = 'InstanceRunningError';
    this.pid = pid;
  }
}

/** Takes the lock. Rejects with `InstanceRunningError` when it is held. */
export async function acquireControlLock(name: string, dataDir: string): Promise<ControlLock> {
  let handlers: ControlHandlers | undefined;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    answer(socket, () => handlers);
  });
  try {
    await listen(server, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    const running = (await requestControl(name, 'pid')) as { pid?: number } | undefined;
    throw new InstanceRunningError(dataDir, running?.pid ?? 0);
  }
  server.unref();
  return {
    serve(these) {
      handlers = these;
    },
    release: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ path }, () => {
      server.off('error', reject);
      server.on('error', () => undefined); // Errors of single connections end those connections only.
      resolve();
    });
  });
}

function answer(socket: Socket, handlers: () => ControlHandlers | undefined): void {
  socket.setEncoding('utf8');
  socket.on('error', () => socket.destroy());
  let text = '';
  socket.on('data', (chunk: string) => {
    text += chunk;
    const end = text.indexOf('\n');
    if (end >= 0) void respond(socket, text.slice(0, end), handlers());
    else if (text.length > 4096) socket.destroy();
  });
}

async function respond(socket: Socket, command: string, handlers: ControlHandlers | undefined): Promise<void> {
  const send = (value: object): void => void socket.write(`${JSON.stringify(value)}\n`);
  if (command === 'pid') send({ pid: process.pid });
  else if (command === 'stop') {
    handlers?.stop();
    send({ stopping: handlers !== undefined, pid: process.pid });
  } else if (command === 'status') send((await handlers?.status()) ?? { phase: 'starting', pid: process.pid });
  else if (command === 'snapshot' && handlers !== undefined)
    send(
      await handlers.snapshot().then(
        (file) => ({ file }),
        (error: unknown) => ({ error: (error as Error).message }),
      ),
    );
  else if (command === 'progress' && handlers !== undefined) {
    const end = handlers.progress((line) => {
      send(line);
      if (line.outcome !== undefined) socket.end();
    });
    socket.on('close', end);
    return;
  } else send({ error: `unknown or too early: ${command}` });
  socket.end();
}

/** Sends one command and returns the first line of the answer; undefined when nobody holds the instance. */
export async function requestControl(
  name: string,
  command: 'pid' | 'stop' | 'status' | 'snapshot',
): Promise<object | undefined> {
  for await (const line of controlLines(name, command)) return line;
  return undefined;
}

/** Sends one command and yields the answer's lines; none when nobody holds the instance. */
export async function* controlLines(name: string, command: string): AsyncGenerator<object> {
  const socket = createConnection({ path: name });
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
  }
}
