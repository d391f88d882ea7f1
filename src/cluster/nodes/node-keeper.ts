/**
 * Keeps nodes running, each by itself: one that cannot be made holds up no other, and is tried again ever more seldom. After two
 * minutes without an attempt the pauses begin anew.
 */
import { KeyedBackoff } from '../../base/backoff.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { logFailedRound } from '../../platform/unexpected.ts';

/** A node, or what all nodes need. */
export interface KeptNode {
  readonly name: string;
  isAlive(): Promise<boolean>;
  /** Makes it run, whatever of it is missing. */
  make(): Promise<void>;
}

const PAUSES = { initialMs: 1000, maxMs: 60_000 } as const;

export class NodeKeeper {
  readonly #deps: Pick<Platform, 'clock' | 'log'>;
  readonly #backoff = new KeyedBackoff(PAUSES);
  readonly #problems = new Map<string, string>();
  readonly #busy = new Set<string>();

  constructor(deps: Pick<Platform, 'clock' | 'log'>) {
    this.#deps = deps;
  }

  /** Why the last attempt failed. */
  problem(name: string): string | undefined {
    return this.#problems.get(name);
  }

  /** After a user's command: what was tried before counts no more. */
  forget(name: string): void {
    this.#backoff.reset(name);
    this.#problems.delete(name);
  }

  /** Makes it, running or not; never rejects, since what fails is tried again by `check`. */
  async make(node: KeptNode): Promise<void> {
    const { clock, log } = this.#deps;
    const { name } = node;
    try {
      await node.make();
      this.#problems.delete(name);
    } catch (error) {
      const reason = errorMessage(error);
      this.#problems.set(name, reason);
      logFailedRound(log, 'cannot start a node of this machine', { node: name, reason });
    }
    // Also one that was made may end at once, again and again.
    this.#backoff.next(name, clock.monotonicMs());
  }

  /** Makes it again where it has ended and it is time. */
  async check(node: KeptNode): Promise<void> {
    const { clock, log } = this.#deps;
    const { name } = node;
    if (this.#busy.has(name)) return;
    this.#busy.add(name);
    try {
      if ((await node.isAlive()) || this.#backoff.isInBackoffSinceUpdate(name, clock.monotonicMs())) return;
      log.warn('A node of this machine does not run and is started again', { node: name });
      await this.make(node);
    } catch (error) {
      logFailedRound(log, 'cannot see whether a node of this machine runs', { node: name, err: error });
    } finally {
      this.#busy.delete(name);
    }
  }
}
