/** The content of the logs page: lines, matches, and the state of each log, published at most once a frame. */
import { signal } from '@preact/signals';
import type { LogState } from './container-log.ts';
import { LogBuffer, type LogLine } from './log-buffer.ts';
import type { LogSource } from './pod-logs.ts';
import { LogSearch } from './search.ts';
import type { WorkloadSink } from './workload-logs.ts';

/** The limit of lines that wait for the next frame. */
const MOST_WAITING = 50_000;

export class LogStore implements WorkloadSink {
  readonly buffer = new LogBuffer();
  readonly search = new LogSearch();
  /** Incremented with every change of lines or matches. */
  readonly version = signal(0);
  readonly sources = signal<readonly LogSource[]>([]);
  readonly states = signal<readonly (LogState | undefined)[]>([]);
  readonly containerNames = signal<readonly string[]>([]);
  readonly problems = signal<readonly string[]>([]);
  /** The number of the workload's pods; 0 when a single pod is shown. */
  readonly podCount = signal(0);
  #waiting: LogLine[] = [];
  #frame = 0;
  /** Whether every line was searched, and the function that waits for it. */
  #searched = true;
  #afterSearch: (() => void) | undefined;

  readonly source = (source: LogSource): number => {
    this.sources.value = [...this.sources.peek(), source];
    return this.sources.peek().length - 1;
  };

  readonly lines = (lines: readonly LogLine[]): void => {
    for (const line of lines) this.#waiting.push(line);
    // A page in the background has no frames.
    if (this.#waiting.length > MOST_WAITING) this.#draw();
    else this.#wake();
  };

  readonly state = (source: number, state: LogState): void => {
    if (this.states.peek()[source]?.kind === state.kind && !('message' in state)) return;
    const states = [...this.states.peek()];
    states[source] = state;
    this.states.value = states;
  };

  readonly containers = (names: readonly string[]): void => {
    const all = [...new Set([...this.containerNames.peek(), ...names])];
    if (all.length !== this.containerNames.peek().length) this.containerNames.value = all;
  };

  readonly solved = (message: string): void => {
    this.problems.value = this.problems.peek().filter((known) => known !== message);
  };
  readonly problem = (message: string): void => {
    if (!this.problems.peek().includes(message)) this.problems.value = [...this.problems.peek(), message];
  };

  readonly pods = (count: number): void => {
    this.podCount.value = count;
  };

  setSearch(text: string): void {
    this.search.set(text);
    this.#searched = false;
    this.#afterSearch = undefined;
    this.#wake();
  }

  /** Runs a function once every line is searched. Only the latest function is kept, until a new search. */
  whenSearched(run: () => void): void {
    if (this.#searched) run();
    else this.#afterSearch = run;
  }

  /** Removes all content, before other logs are shown. */
  clear(): void {
    this.#waiting = [];
    this.buffer.clear();
    this.search.reset();
    this.sources.value = this.states.value = [];
    this.containerNames.value = this.problems.value = [];
    this.podCount.value = 0;
    this.version.value++;
  }

  stop(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
  }

  #wake(): void {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#draw());
  }

  #draw(): void {
    this.stop();
    const lines = this.#waiting;
    this.#waiting = [];
    this.buffer.add(lines);
    this.#searched = this.search.advance(this.buffer, this.buffer.takeChanged());
    this.version.value++;
    if (!this.#searched) this.#wake();
    else this.#runAfterSearch();
  }

  #runAfterSearch(): void {
    const run = this.#afterSearch;
    this.#afterSearch = undefined;
    run?.();
  }
}
