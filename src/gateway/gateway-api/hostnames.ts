/** Intersections of host names of listeners and routes. A wildcard stands for one or more labels. */

/** The common names; undefined when there are none. '' is every name. */
export function intersection(listener: string, route: string): string | undefined {
  if (listener === '' || listener === route) return route;
  if (route === '') return listener;
  if (isBelow(route, listener)) return route;
  return isBelow(listener, route) ? listener : undefined;
}

/** Whether a name, or all names of a wildcard, are covered by a less specific wildcard, or by '' for all. */
export function isBelow(name: string, wildcard: string): boolean {
  if (wildcard === '') return name !== '';
  return (
    name !== wildcard && wildcard.startsWith('*.') && name.endsWith(wildcard.slice(1)) && name.length >= wildcard.length
  );
}

/** The host names of a route at a listener; empty when they have none in common. */
export function routeHosts(listener: string | undefined, hostnames: readonly string[] | undefined): string[] {
  const own = listener ?? '';
  if (hostnames === undefined || hostnames.length === 0) return [own.toLowerCase()];
  const found = hostnames.map((name) => intersection(own.toLowerCase(), name.toLowerCase()));
  return [...new Set(found.filter((name) => name !== undefined))];
}

/** The wildcards that cover a name or a wildcard, the most specific first; the last is '', which covers every name. */
export function wildcardsAbove(host: string): string[] {
  const found: string[] = [];
  const name = host.startsWith('*.') ? host.slice(2) : host;
  for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) found.push(`*${name.slice(dot)}`);
  return host === '' ? found : [...found, ''];
}

/** The names of listeners that cover a host, the most specific first. */
export function namesAndWildcards(host: string): string[] {
  return [host, ...wildcardsAbove(host)];
}
