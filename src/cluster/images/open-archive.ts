/** Opens an archive of images: a file, standard input, or an image of Docker or Podman on this machine. */
import { spawn } from 'node:child_process';
import { createReadStream, existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { request } from 'node:http';
import { Readable, type Transform } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { errorMessage } from '../../base/errors.ts';
import { ImageArchiveError } from '../../cri/images/image-name.ts';

/** Large chunks need fewer turns on their way into containerd. */
const CHUNK_BYTES = 1024 * 1024;

/** The variables by which the engines' clients find their sockets. */
export type EngineEnvironment = Partial<Record<'DOCKER_HOST' | 'CONTAINER_HOST' | 'XDG_RUNTIME_DIR', string>>;

/**
 * The decompressed content of `FILE`, `-`, `docker:NAME` or `podman:NAME`; opened at the first read, and closed when
 * the reader ends. The promise and its chunks reject with `ImageArchiveError`.
 */
export async function openArchive(source: string, env: EngineEnvironment = {}): Promise<AsyncIterable<Uint8Array>> {
  const [, engine, name] = /^(docker|podman):(.+)$/.exec(source) ?? [];
  if (engine !== undefined && name !== undefined) return decompressed(() => savedBy(engine as Engine, name, env));
  if (source === '-') return decompressed(() => process.stdin);
  const file = await stat(source).catch((error: unknown) => {
    throw new ImageArchiveError(errorMessage(error));
  });
  if (!file.isFile()) throw new ImageArchiveError('it is no file');
  return decompressed(() => createReadStream(source, { highWaterMark: CHUNK_BYTES }));
}

type Engine = 'docker' | 'podman';

/** Decompresses gzip and zstd, recognized by their first bytes. */
async function* decompressed(
  open: () => AsyncIterable<Uint8Array> | Promise<AsyncIterable<Uint8Array>>,
): AsyncGenerator<Uint8Array> {
  const chunks = (await open())[Symbol.asyncIterator]();
  try {
    const first = await chunks.next();
    const head: Uint8Array = first.done === true ? Buffer.alloc(0) : first.value;
    const whole = async function* (): AsyncGenerator<Uint8Array> {
      yield head;
      for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) yield next.value;
    };
    const inflater = inflaterFor(head);
    yield* inflater === undefined ? whole() : inflated(whole(), inflater);
  } finally {
    await chunks.return?.();
  }
}

function inflaterFor(head: Uint8Array): Transform | undefined {
  const magic = Buffer.from(head.subarray(0, 4)).toString('hex');
  if (magic.startsWith('1f8b')) return createGunzip({ chunkSize: CHUNK_BYTES });
  return magic === '28b52ffd' ? createZstdDecompress({ chunkSize: CHUNK_BYTES }) : undefined;
}

function inflated(chunks: AsyncGenerator<Uint8Array>, inflater: Transform): AsyncGenerator<Uint8Array> {
  const source = Readable.from(chunks, { objectMode: false });
  source.on('error', (error) => inflater.destroy(error));
  inflater.on('error', () => source.destroy()); // the reader gets the error
  inflater.on('close', () => source.destroy());
  source.pipe(inflater);
  return errorsNamed(inflater);
}

async function* errorsNamed(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* stream;
  } catch (error) {
    throw new ImageArchiveError(`it cannot be decompressed: ${errorMessage(error)}`);
  }
}

/** By the engine's socket, otherwise by its program. */
async function savedBy(engine: Engine, name: string, env: EngineEnvironment): Promise<AsyncIterable<Uint8Array>> {
  const socket = socketsOf(engine, env).find((path) => existsSync(path));
  return socket === undefined ? savedByProgram(engine, name) : savedOverSocket(engine, socket, name);
}

function socketsOf(engine: Engine, env: EngineEnvironment): string[] {
  const { DOCKER_HOST: docker = '', CONTAINER_HOST: podman = '', XDG_RUNTIME_DIR: runtime } = env;
  const named = (engine === 'docker' ? docker : podman).replace(/^unix:\/\//, '');
  const own = runtime === undefined ? [] : [`${runtime}/${engine === 'docker' ? 'docker.sock' : 'podman/podman.sock'}`];
  const shared = engine === 'docker' ? ['/var/run/docker.sock'] : ['/run/podman/podman.sock'];
  return [...(named.startsWith('/') ? [named] : []), ...own, ...shared];
}

function savedOverSocket(engine: Engine, socketPath: string, name: string): Promise<AsyncIterable<Uint8Array>> {
  return new Promise((resolve, reject) => {
    const path = `/v1.40/images/${encodeURIComponent(name)}/get`;
    const asked = request({ socketPath, path, headers: { host: engine } }, (answer) => {
      if (answer.statusCode === 200) return resolve(answer);
      const refuse = (why: string): void => reject(new ImageArchiveError(`${engine} ${why}`));
      if (answer.statusCode === 404) {
        answer.resume();
        return refuse('has no such image');
      }
      engineMessage(answer).then(
        (message) => refuse(`answers ${answer.statusCode}${message && `: ${message}`}`),
        (error: unknown) => refuse(`answers ${answer.statusCode}: ${errorMessage(error)}`),
      );
    });
    asked.on('error', (error) => reject(new ImageArchiveError(`${engine} cannot be reached: ${error.message}`)));
    asked.end();
  });
}

const MAX_MESSAGE_BYTES = 64 * 1024;

/** Empty where the body is not the engine's error, or too long for one. */
async function engineMessage(answer: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // To leave the loop closes the connection.
  for await (const chunk of answer) {
    bytes += chunk.length;
    if (bytes > MAX_MESSAGE_BYTES) return '';
    chunks.push(chunk);
  }
  try {
    const { message } = JSON.parse(Buffer.concat(chunks).toString()) as { readonly message?: unknown };
    return typeof message === 'string' ? message : '';
  } catch {
    return '';
  }
}

async function savedByProgram(engine: Engine, name: string): Promise<AsyncIterable<Uint8Array>> {
  const args = engine === 'docker' ? ['save', name] : ['save', '--format', 'docker-archive', name];
  const child = spawn(engine, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr = `${stderr}${text}`.slice(-2000)));
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('error', () =>
      reject(new ImageArchiveError(`${engine} is neither running nor installed on this machine`)),
    );
    child.on('close', resolve);
  });
  ended.catch(() => undefined); // awaited below
  return (async function* () {
    yield* child.stdout as AsyncIterable<Uint8Array>;
    const code = await ended;
    if (code !== 0)
      throw new ImageArchiveError(`${engine} save: ${stderr.trim().split('\n').at(-1) || `exit ${code}`}`);
  })();
}
