/** helm's proxies, and the hosts that it reaches without them. Pure. */

/** Adds the API server to NO_PROXY. `host`: as in a URL. */
export function withNoProxyFor(
  host: string,
  proxies: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  if (Object.keys(proxies).length === 0) return proxies;
  const listed = proxies['NO_PROXY'] ?? proxies['no_proxy'] ?? '';
  const all = [listed, host.replace(/^\[|\]$/g, '')].filter((each) => each !== '').join(',');
  return { ...proxies, NO_PROXY: all, no_proxy: all };
}
