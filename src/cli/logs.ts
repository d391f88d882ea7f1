/** `keelson logs`: what a cluster in the background wrote, of all components or one, as lines for people or as they are. */
import { existsSync } from 'node:fs';
import { open, stat, type FileHandle } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command, Option } from 'commander';
import { dataDirOption } from './cluster-options.ts';
import { logLineText, type LogSelection } from './log-lines.ts';
import { UserError } from './usage-error.ts';

interface RawOptions {
  readonly dataDir: string;
  readonly node?: string;
  readonly follow?: boolean;
  readonly tail: string;
  readonly output: 'text' | 'json';
}

/** Programs beside Keelson, each with a file of its own. */
const DAEMONS: readonly string[] = ['containerd', 'dns', 'etcd', 'gateway'];
const FOLLOW_PERIOD_MS = 200;
const CHUNK_BYTES = 256 * 1024;

export function logsCommand(): Command {
  return new Command('logs')
    .description('show what a cluster logged, of all components or one')
    .argument('[component]', 'scheduler, kubelet, ... as in the log; containerd, dns, etcd or gateway')
    .addOption(dataDirOption())
    .option('--node <name>', 'of a further node of this machine (keelson up --nodes)')
    .option('-f, --follow', 'go on with what is written from now on')
    .option('--tail <lines>', 'how many of the last lines; all: everything in the file', '200')
    .addOption(
      new Option('-o, --output <format>', 'text, or the lines as they are').choices(['text', 'json']).default('text'),
    )
    .action(async (component: string | undefined, raw: RawOptions) => {
      const isDaemon = component !== undefined && DAEMONS.includes(component);
      const file = `${logDirOf(resolve(raw.dataDir), raw.node)}/${isDaemon ? component : 'keelson'}.log`;
      if (!existsSync(file))
        throw new UserError(
          `${file} is not there: ${isDaemon ? `no ${component} ran` : 'only clusters in the background (--detach) have it'}`,
        );
      const tail = raw.tail === 'all' ? Infinity : Number(raw.tail);
      if (Number.isNaN(tail) || tail < 0) throw new UserError(`--tail: ${raw.tail} is neither a number nor all`, 2);
      const selection = { component: isDaemon ? undefined : component, asText: raw.output === 'text' };
      await show(file, { tail, selection, follow: raw.follow === true });
    });
}

/** Throws `UserError` for an unknown node. */
function logDirOf(dataDir: string, node: string | undefined): string {
  if (node === undefined) return `${dataDir}/logs`;
  const dir = `${dataDir}/nodes/${node}`;
  if (/^[a-z0-9.-]+$/.test(node) && existsSync(`${dir}/logs`)) return `${dir}/logs`;
  throw new UserError(`--node: ${node} is no further node of this machine (keelson node ls lists them)`, 2);
}

interface Showing {
  readonly tail: number;
  readonly selection: LogSelection;
  readonly follow: boolean;
}

async function show(path: string, { tail, selection, follow }: Showing): Promise<void> {
  let handle = await open(path, 'r');
  try {
    let shown: string[] = [];
    const seen = new Set<string>();
    let reader = lineReader();
    const end = await readOn(handle, 0, (chunk) => {
      for (const line of reader(chunk)) {
        const text = logLineText(line, selection, seen);
        if (text !== undefined) shown.push(text);
      }
      if (shown.length > 2 * tail) shown = shown.slice(-tail);
    });
    for (const text of tail === 0 ? [] : shown.slice(-Math.min(tail, shown.length))) process.stdout.write(`${text}\n`);
    if (shown.length === 0 && selection.component !== undefined && !follow) refuseUnknown(selection.component, seen);
    for (let at = end; follow;) {
      await sleep(FOLLOW_PERIOD_MS);
      const { ino, size } = await stat(path).catch(() => ({ ino: 0, size: 0 }));
      if (ino !== 0 && ino !== (await handle.stat()).ino) {
        await handle.close();
        [handle, at, reader] = [await open(path, 'r'), 0, lineReader()];
      } else if (size < at) [at, reader] = [0, lineReader()]; // truncated by the rotation
      at = await readOn(handle, at, (chunk) => {
        for (const line of reader(chunk)) {
          const text = logLineText(line, selection, seen);
          if (text !== undefined) process.stdout.write(`${text}\n`);
        }
      });
    }
  } finally {
    await handle.close();
  }
}

function refuseUnknown(component: string, seen: ReadonlySet<string>): never {
  const others = [...seen].sort().join(', ') || 'none';
  throw new UserError(
    `no line of ${component} is in the log; components in it: ${others}; beside it: ${DAEMONS.join(', ')}`,
  );
}

/** Reads from an offset to the end; resolves to the end. */
async function readOn(handle: FileHandle, from: number, take: (chunk: Buffer) => void): Promise<number> {
  const buffer = Buffer.alloc(CHUNK_BYTES);
  for (let at = from; ;) {
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, at);
    if (bytesRead === 0) return at;
    take(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
}

/** Splits chunks into lines; an incomplete line waits for the next chunk. */
function lineReader(): (chunk: Buffer) => string[] {
  const decoder = new TextDecoder();
  let rest = '';
  return (chunk) => {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    return lines;
  };
}
