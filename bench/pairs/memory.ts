// The memory that a POST allocates, and the part that V8 promotes to its old generation, where only a full collection frees it.
import { sleep } from '../run/wait.ts';
import { ratioLine } from './ratio.ts';
import { sendMany } from './requests.ts';
import { type Build, type Server, type Sides, startServer } from './server.ts';

const WARM_UP = 3000;
const COUNT = 12_000;

/** The figures of both sides. */
export async function compareMemory(builds: Sides<Build>): Promise<string[]> {
  const figures = [await measure(builds[0]), await measure(builds[1])] as const;
  return (['allocated', 'promoted', 'pauses'] as const).map((key) =>
    ratioLine(`POST of a config map, ${labels[key]}`, [[figures[0][key], figures[1][key]]]),
  );
}

const labels = { allocated: 'allocated B', promoted: 'promoted B', pauses: 'GC µs' };

/** Figures per request. */
type Figures = Readonly<Record<keyof typeof labels, number>>;

async function measure(build: Build): Promise<Figures> {
  const server = await startServer(build, ['--trace-gc-nvp']);
  try {
    await sendMany(server, 'post', WARM_UP);
    await sleep(200);
    const before = sums(server);
    await sendMany(server, 'post', COUNT);
    await sleep(200);
    const after = sums(server);
    const of = (key: keyof Figures): number => (after[key] - before[key]) / COUNT;
    return { allocated: of('allocated'), promoted: of('promoted'), pauses: of('pauses') * 1000 };
  } finally {
    await server.stop();
  }
}

/** The main thread's figures: its collector writes the first line. */
function sums(server: Server): Figures {
  const lines = server.output().split('\n');
  const isolate = /^\[\d+:0x[0-9a-f]+(:\d+)?\]/.exec(lines.find((line) => line.includes(' gc=')) ?? '')?.[0] ?? 'none';
  const total = (name: string): number =>
    lines
      .filter((line) => line.startsWith(isolate))
      .reduce((sum, line) => sum + Number(new RegExp(` ${name}=([\\d.]+)`).exec(line)?.[1] ?? 0), 0);
  return { allocated: total('allocated'), promoted: total('promoted'), pauses: total('pause') };
}
