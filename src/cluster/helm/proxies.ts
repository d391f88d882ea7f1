/** The proxies of helm, and what they are not asked for. Pure. */

/** The API server is reached directly, whatever NO_PROXY leaves out. `host`: as a URL has it. */
export function proxiesBeside(
  host: string,
  proxies: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  if (Object.keys(proxies).length === 0) return proxies;
  const listed = proxies['NO_PROXY'] ?? proxies['no_proxy'] ?? '';
  const all = [listed, host.replace(/^\[|\]$/g, '')].filter((each) => each !== '').join(',');
  return { ...proxies, NO_PROXY: all, no_proxy: all };
}
