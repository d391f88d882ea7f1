/**
 * Keeps nodes running, each independently: a node that cannot be created delays no other and is retried with growing
 * pauses. After two minutes without an attempt the pauses start over.
 */
import { KeyedBackoff } from '../../base/backoff.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { logFailedRound } from '../../platform/unexpected.ts';

/** A node, or the network that all nodes need. */
export interface KeptNode {
  readonly name: string;
  isAlive(): Promise<boolean>;
  /** Creates and starts whatever is missing. */
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

  /** The error of the last attempt. */
  problem(name: string): string | undefined {
    return this.#problems.get(name);
  }

  /** Resets the pauses after a user's action. */
  forget(name: string): void {
    this.#backoff.reset(name);
    this.#problems.delete(name);
  }

  /** Creates the node whether or not it runs. Never rejects: `check` retries failures. */
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
    // A node that was created may end at once, again and again.
    this.#backoff.next(name, clock.monotonicMs());
  }

  /** Recreates a node that has ended, once its pause is over. */
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
