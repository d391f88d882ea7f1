// Measures the longest turn of the event loop in processor time of its thread, so that other programs do not count.
import { Session } from 'node:inspector';

/** A meter that runs until `stop`. */
export interface TurnMeter {
  /** Starts a new measurement. */
  reset(): void;
  /** Marks the end of a turn of the product. */
  pass(): void;
  /** Discards the time since the last turn, which was not the product's. */
  skip(): void;
  readonly longestMs: number;
  readonly totalMs: number;
  stop(): void;
}

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

/** Starts the meter. */
export function meterTurns(onLongest: (fromUs: number, toUs: number) => void = () => {}): TurnMeter {
  let [startMs, lastMs, longestMs] = [cpuMs(), cpuMs(), 0];
  let lastUs = monotonicUs();
  let timer = setImmediate(turn);
  function turn(): void {
    pass();
    timer = setImmediate(turn);
  }
  function pass(): void {
    const nowMs = cpuMs();
    const nowUs = monotonicUs();
    if (nowMs - lastMs > longestMs) {
      longestMs = nowMs - lastMs;
      onLongest(lastUs, nowUs);
    }
    lastMs = nowMs;
    lastUs = nowUs;
  }
  function skip(): void {
    lastMs = cpuMs();
    lastUs = monotonicUs();
  }
  return {
    pass,
    skip,
    reset() {
      skip();
      [startMs, longestMs] = [lastMs, 0];
    },
    get longestMs() {
      return Math.max(longestMs, cpuMs() - lastMs);
    },
    get totalMs() {
      return cpuMs() - startMs;
    },
    stop: () => clearImmediate(timer),
  };
}

const monotonicUs = (): number => Number(process.hrtime.bigint() / 1000n);

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  readonly children?: readonly number[];
}

/** The functions of the product that ran most between two instants, with their shares. */
export class Sampler {
  readonly #session = new Session();

  start(): void {
    this.#session.connect();
    this.#session.post('Profiler.enable');
    this.#session.post('Profiler.setSamplingInterval', { interval: 2000 });
    this.#session.post('Profiler.start');
  }

  /** Stops the sampler. */
  stop(fromUs: number, toUs: number): string[] {
    let found: string[] = [];
    this.#session.post('Profiler.stop', (_error, { profile }) => {
      const nodes = new Map((profile.nodes as ProfileNode[]).map((node) => [node.id, node]));
      const parents = new Map<number, number>();
      for (const node of nodes.values()) for (const child of node.children ?? []) parents.set(child, node.id);
      const counts = new Map<string, number>();
      let [atUs, all] = [profile.startTime, 0];
      for (const [index, id] of (profile.samples ?? []).entries()) {
        atUs += profile.timeDeltas?.[index] ?? 0;
        if (atUs < fromUs || atUs > toUs) continue;
        all++;
        // Samples outside of the product's functions: garbage collection, native calls of the load itself.
        const leaf = nodes.get(id)!.callFrame;
        const seen = new Set<string>(
          leaf.url.includes('/src/') ? [] : [`(${leaf.functionName} ${leaf.url.slice(-30)})`],
        );
        for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
          const { functionName, url, lineNumber } = nodes.get(at)!.callFrame;
          if (!url.includes('/src/')) continue;
          seen.add(`${functionName} ${url.slice(url.indexOf('/src/') + 1)}:${lineNumber + 1}`);
        }
        for (const one of seen) counts.set(one, (counts.get(one) ?? 0) + 1);
      }
      found = [...counts]
        .sort(([, a], [, b]) => b - a)
        .slice(0, 14)
        .map(([name, count]) => `${Math.round((100 * count) / all)}% ${name}`);
    });
    this.#session.disconnect();
    return found;
  }
}
