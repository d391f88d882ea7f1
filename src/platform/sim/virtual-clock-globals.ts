/**
 * Inside a thread that does nothing but simulate, whatever would bring in real time, real randomness or the real network
 * around the ports throws: it would make a run that cannot be repeated. Never for threads that run other people's code.
 */

/** Something reached around the ports. */
export class ForbiddenGlobalError extends Error {
  constructor(name: string) {
    super(`${name} is forbidden in a simulation: it comes in through the ports (src/platform)`);
    this.name = 'ForbiddenGlobalError';
  }
}

/** Makes them throw, for the rest of this thread's life. Modules must be loaded before. */
export function forbidGlobals(): void {
  const forbid = (target: object, name: string, shown: string): void => {
    // No arrow function: with `new` too it is to throw this.
    const refuse = function (): never {
      throw new ForbiddenGlobalError(shown);
    };
    Object.defineProperty(target, name, { value: refuse, configurable: true, writable: true });
  };
  for (const name of ['setTimeout', 'setInterval', 'setImmediate', 'fetch', 'WebSocket', 'EventSource'])
    forbid(globalThis, name, name);
  forbid(AbortSignal, 'timeout', 'AbortSignal.timeout');
  Object.defineProperty(globalThis, 'crypto', {
    get(): never {
      throw new ForbiddenGlobalError('crypto');
    },
    configurable: true,
  });
  forbid(Math, 'random', 'Math.random');
  for (const name of ['now', 'mark', 'measure']) forbid(performance, name, `performance.${name}`);
  for (const name of ['hrtime', 'uptime']) forbid(process, name, `process.${name}`);
  const RealDate = Date;
  const guarded = new Proxy(RealDate, {
    // A date of a given number is pure arithmetic; the current date is not.
    construct(target, args: unknown[]) {
      if (args.length === 0) throw new ForbiddenGlobalError('new Date()');
      return Reflect.construct(target, args) as object;
    },
    apply() {
      throw new ForbiddenGlobalError('Date()');
    },
    get(target, name, receiver) {
      if (name === 'now') throw new ForbiddenGlobalError('Date.now');
      return Reflect.get(target, name, receiver) as unknown;
    },
  });
  Object.defineProperty(globalThis, 'Date', { value: guarded, configurable: true, writable: true });
}
