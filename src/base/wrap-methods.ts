/** Something before every method of an object, made when the method is first asked for: of dozens a few are ever called. */

type Method = (...values: unknown[]) => unknown;

/** The service with `wrap(name, method)` in place of each method. Methods must not need `this`. */
export function wrapMethods<T extends object>(service: T, wrap: (name: string, method: Method) => Method): T {
  const wrapped = new Map<string | symbol, Method>();
  return new Proxy(service, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function' || typeof name === 'symbol') return method;
      let made = wrapped.get(name);
      if (made === undefined) wrapped.set(name, (made = wrap(name, method as Method)));
      return made;
    },
  });
}
