/** Host names of listeners and routes, which meet where both allow. A wildcard stands for one or more labels. */

/** Undefined: they have no name in common. '' is every name. */
export function intersection(listener: string, route: string): string | undefined {
  if (listener === '' || listener === route) return route;
  if (route === '') return listener;
  if (isBelow(route, listener)) return route;
  return isBelow(listener, route) ? listener : undefined;
}

/** Whether a name, or all names of a wildcard, are among those of a wildcard. */
function isBelow(name: string, wildcard: string): boolean {
  return wildcard.startsWith('*.') && name.endsWith(wildcard.slice(1)) && name.length > wildcard.length - 1;
}

/** The names at which a route answers behind a listener; none: they have nothing in common. */
export function routeHosts(listener: string | undefined, hostnames: readonly string[] | undefined): string[] {
  const own = listener ?? '';
  if (hostnames === undefined || hostnames.length === 0) return [own.toLowerCase()];
  const found = hostnames.map((name) => intersection(own.toLowerCase(), name.toLowerCase()));
  return [...new Set(found.filter((name) => name !== undefined))];
}

/** The wildcards that a name, or a wildcard, is below, the most specific first; the last is '', which is every name. */
export function wildcardsAbove(host: string): string[] {
  const found: string[] = [];
  const name = host.startsWith('*.') ? host.slice(2) : host;
  for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) found.push(`*${name.slice(dot)}`);
  return host === '' ? found : [...found, ''];
}

/** The names of listeners that a host may meet, the most specific first. */
export function namesAndWildcards(host: string): string[] {
  return [host, ...wildcardsAbove(host)];
}
