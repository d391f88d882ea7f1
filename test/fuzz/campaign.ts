// A campaign: exchanges in blocks, many at a time; between blocks the cluster is tidied and a well-behaved client writes.
import { type Answer, type Exchange, nameOf } from './exchange.ts';
import { exchangeAt } from './generators/list.ts';
import { judgeAnswer, type Problem } from './oracles/answers.ts';
import { stacksIn } from './oracles/log.ts';
import { memoryKept } from './oracles/memory.ts';
import { checkServes, checkWrites, residentMib, startTime, unexpectedErrors } from './oracles/process.ts';
import { readBack } from './oracles/read-back.ts';
import { differences, sampleOf } from './oracles/restart.ts';
import { tidy } from './targets/tidy.ts';
import type { Target } from './targets/keelson-up.ts';
import { OwnClient } from './targets/own-client.ts';
import { prepare, untilReady } from './targets/prepare.ts';
import { Transports } from './transports/transports.ts';

export interface CampaignOptions {
  readonly seed: string;
  readonly exchanges: number;
  readonly only: readonly string[];
  readonly report: (line: string) => void;
  /** Called once for each kind of problem, at once. */
  readonly onFinding?: (finding: Finding) => void;
}

/** A problem, and the exchanges that may have caused it, the likeliest last. */
export interface Finding extends Problem {
  readonly exchanges: readonly Exchange[];
  times: number;
}

const WORKERS = 16;
const BLOCK = 2000;
/** The exchanges before a problem that are kept with it. */
const WINDOW = 200;

export class Campaign {
  readonly #options: CampaignOptions;
  #target: Target;
  #client: OwnClient;
  readonly #findings = new Map<string, Finding>();
  readonly #recent: Exchange[] = [];
  readonly #counts = new Map<string, number>();
  #next = 0;

  constructor(target: Target, options: CampaignOptions) {
    this.#target = target;
    this.#options = options;
    this.#client = new OwnClient(target.access);
  }

  /** How many exchanges ended in each way. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** The server, which is another process after the run. */
  get target(): Target {
    return this.#target;
  }

  async run(): Promise<readonly Finding[]> {
    await prepare(this.#client);
    const began = await startTime(this.#client);
    const startedMib = residentMib(this.#target.pid);
    try {
      const count = await this.#blocks();
      if ((await startTime(this.#client)) !== began) throw new Error('another process answers');
      for (const problem of await unexpectedErrors(this.#client)) this.#find(problem, []);
      for (const problem of (await readBack(this.#client)).problems) this.#find(problem, []);
      const kept = await memoryKept(this.#target.pid, { startedMib, report: this.#options.report });
      if (kept !== undefined) this.#find(kept, []);
      await this.#restart(count);
    } catch (error) {
      this.#find(this.#fatal(error), this.#recent);
    }
    for (const problem of stacksIn(this.#target.log())) this.#find(problem, []);
    this.#client.close();
    return [...this.#findings.values()];
  }

  /** How often the well-behaved client wrote. */
  async #blocks(): Promise<number> {
    const { exchanges, report } = this.#options;
    let count = 0;
    while (this.#next < exchanges) {
      const startedMs = performance.now();
      const before = this.#next;
      await this.#block(Math.min(this.#next + BLOCK, exchanges), count);
      await tidy(this.#client);
      await checkWrites(this.#client, ++count);
      await checkServes(this.#client, count);
      const rate = Math.round(((this.#next - before) * 1000) / (performance.now() - startedMs));
      report(
        `${this.#next} exchanges, ${rate}/s, ${residentMib(this.#target.pid)} MiB, ${this.#findings.size} findings`,
      );
    }
    return count;
  }

  /** What was stored is there again in the next process. */
  async #restart(count: number): Promise<void> {
    const before = await sampleOf(this.#client);
    this.#client.close();
    for (const problem of stacksIn(this.#target.log())) this.#find(problem, []);
    this.#target = await this.#target.restart();
    this.#client = new OwnClient(this.#target.access);
    await untilReady(this.#client);
    await checkServes(this.#client, count);
    for (const problem of (await readBack(this.#client)).problems)
      this.#find({ ...problem, signature: `after a restart: ${problem.signature}` }, []);
    for (const problem of differences(before, await sampleOf(this.#client))) this.#find(problem, []);
    this.#options.report(`restarted: ${before.size} objects compared`);
  }

  async #block(end: number, count: number): Promise<void> {
    const lifetime = new AbortController();
    const watch = this.#keepAsking(lifetime.signal, count);
    const workers = Array.from({ length: WORKERS }, () => this.#work(end));
    try {
      await Promise.race([watch, Promise.all(workers)]);
    } finally {
      lifetime.abort();
    }
    await watch;
  }

  async #work(end: number): Promise<void> {
    const transports = new Transports(this.#target.access);
    while (this.#next < end && this.#target.ended() === undefined) {
      const number = this.#next++;
      const exchange = exchangeAt(this.#options.seed, number, this.#options.only);
      this.#recent.push(exchange);
      if (this.#recent.length > 2 * WINDOW) this.#recent.splice(0, WINDOW);
      const answer = await transports.send(exchange);
      this.#count(answer);
      const problem = judgeAnswer(exchange, answer);
      if (problem !== undefined)
        this.#find({ ...problem, detail: `#${number} ${nameOf(exchange)}: ${problem.detail}` }, [exchange]);
    }
    transports.close();
  }

  /** The well-behaved client beside the hostile ones. */
  async #keepAsking(signal: AbortSignal, count: number): Promise<void> {
    const client = new OwnClient(this.#target.access);
    while (!signal.aborted) {
      await checkServes(client, count);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    client.close();
  }

  #fatal(error: unknown): Problem {
    const ended = this.#target.ended();
    if (ended === undefined) return { signature: 'the well-behaved client', detail: String(error) };
    return { signature: 'the process ended', detail: `${ended}\n${this.#target.log().slice(-3000)}` };
  }

  #find(problem: Problem, exchanges: readonly Exchange[]): void {
    const known = this.#findings.get(problem.signature);
    if (known !== undefined) return void known.times++;
    const finding = { ...problem, exchanges: [...exchanges], times: 1 };
    this.#findings.set(problem.signature, finding);
    this.#options.onFinding?.(finding);
  }

  #count({ outcome, status }: Answer): void {
    const what = `${outcome}${status === undefined ? '' : ` ${status}`}`;
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }
}
