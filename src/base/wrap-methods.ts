/** Wraps every method of an object, each when it is first used: of dozens only a few are ever called. */

type Method = (...values: unknown[]) => unknown;

/** The service with `wrap(name, method)` in place of each method. Methods must not need `this`. */
export function wrapMethods<T extends object>(service: T, wrap: (name: string, method: Method) => Method): T {
  const wrapped = new Map<string | symbol, Method>();
  return new Proxy(service, {
    get(target, name) {
      const cached = wrapped.get(name);
      if (cached !== undefined) return cached;
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function' || typeof name === 'symbol') return method;
      const made = wrap(name, method as Method);
      wrapped.set(name, made);
      return made;
    },
  });
}
