// A campaign: exchanges in blocks, many at a time; between blocks the cluster is tidied and a well-behaved client writes.
import { type Answer, type Exchange, nameOf } from './exchange.ts';
import { exchangeAt } from './generators/list.ts';
import { judgeAnswer, type Problem } from './oracles/answers.ts';
import { stacksIn } from './oracles/log.ts';
import { memoryKept } from './oracles/memory.ts';
import { residentMib } from './oracles/process.ts';
import type { Target } from './targets/target.ts';
import { Transports } from './transports/transports.ts';

export interface CampaignOptions {
  readonly seed: string;
  readonly exchanges: number;
  /** Families of exchanges; absent for all of the API server. */
  readonly only?: readonly string[];
  readonly report: (line: string) => void;
  /** Called at once with the first finding of each kind. */
  readonly onFinding?: (finding: Finding) => void;
}

/** A problem, with the exchanges that may have caused it, the most likely last. */
export interface Finding extends Problem {
  readonly exchanges: readonly Exchange[];
  times: number;
}

const WORKERS = 16;
const BLOCK = 2000;
/** The number of exchanges before a problem that are kept with it. */
const WINDOW = 200;

export class Campaign {
  readonly #options: CampaignOptions;
  #target: Target;
  readonly #findings = new Map<string, Finding>();
  readonly #recent: Exchange[] = [];
  readonly #counts = new Map<string, number>();
  #next = 0;

  constructor(target: Target, options: CampaignOptions) {
    this.#target = target;
    this.#options = options;
  }

  /** The number of exchanges by outcome. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** The server, which is another process after a restart. */
  get target(): Target {
    return this.#target;
  }

  async run(): Promise<readonly Finding[]> {
    const { checks } = this.#target;
    await checks.prepare();
    const began = await checks.startTime();
    const startedMib = residentMib(this.#target.pid);
    try {
      await this.#blocks();
      if ((await checks.startTime()) !== began) throw new Error('another process answers');
      for (const problem of await checks.problems()) this.#find(problem, []);
      const kept = await memoryKept(this.#target.pid, { startedMib, report: this.#options.report });
      if (kept !== undefined) this.#find(kept, []);
      await this.#restart();
    } catch (error) {
      this.#find(this.#fatal(error), this.#recent);
    }
    for (const problem of stacksIn(this.#target.log())) this.#find(problem, []);
    this.#target.checks.close();
    return [...this.#findings.values()];
  }

  async #blocks(): Promise<void> {
    const { exchanges, report } = this.#options;
    while (this.#next < exchanges) {
      const startedMs = performance.now();
      const before = this.#next;
      await this.#block(Math.min(this.#next + BLOCK, exchanges));
      await this.#target.checks.works();
      const rate = Math.round(((this.#next - before) * 1000) / (performance.now() - startedMs));
      report(
        `${this.#next} exchanges, ${rate}/s, ${residentMib(this.#target.pid)} MiB, ${this.#findings.size} findings`,
      );
    }
  }

  /** The objects from before must exist in the next process. */
  async #restart(): Promise<void> {
    const before = await this.#target.checks.sample();
    this.#target.checks.close();
    for (const problem of stacksIn(this.#target.log())) this.#find(problem, []);
    this.#target = await this.#target.restart();
    const { checks } = this.#target;
    await checks.ready();
    await checks.serves();
    for (const problem of await checks.problems())
      this.#find({ ...problem, signature: `after a restart: ${problem.signature}` }, []);
    for (const problem of checks.differences(before, await checks.sample())) this.#find(problem, []);
    this.#options.report(`restarted: ${before.size} objects compared`);
  }

  async #block(end: number): Promise<void> {
    const lifetime = new AbortController();
    const watch = this.#keepAsking(lifetime.signal);
    const workers = Array.from({ length: WORKERS }, () => this.#work(end));
    try {
      await Promise.race([watch, Promise.all(workers)]);
    } finally {
      lifetime.abort();
    }
    await watch;
  }

  async #work(end: number): Promise<void> {
    const transports = new Transports(this.#target);
    while (this.#next < end && this.#target.ended() === undefined) {
      const number = this.#next++;
      const exchange = exchangeAt(this.#options.seed, number, this.#options.only);
      this.#recent.push(exchange);
      if (this.#recent.length > 2 * WINDOW) this.#recent.splice(0, WINDOW);
      const answer = await transports.send(exchange);
      this.#count(answer);
      const problem = judgeAnswer(exchange, answer, this.#target.peers !== undefined);
      if (problem !== undefined)
        this.#find({ ...problem, detail: `#${number} ${nameOf(exchange)}: ${problem.detail}` }, [exchange]);
    }
    transports.close();
  }

  /** The well-behaved client beside the hostile ones. */
  async #keepAsking(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#target.checks.serves();
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
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
