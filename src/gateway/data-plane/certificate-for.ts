/**
 * The certificate for the server name (SNI) of a TLS connection whose inner bytes go to a TLSRoute's backend. The wildcards of its hosts
 * stand for any number of labels; for HTTPS, where names must fit certificates, `platform/node/sni.ts` takes one.
 */

/** By name; '' is for clients that request no served name. */
export type ByServerName<T> = ReadonlyMap<string, T>;

/** The certificate of the exact name, else of the longest wildcard above it, else the default. */
export function certificateFor<T>(certificates: ByServerName<T>, name: string): T | undefined {
  const serverName = name.toLowerCase();
  let certificate = certificates.get(serverName);
  for (let dot = serverName.indexOf('.'); certificate === undefined && dot >= 0; dot = serverName.indexOf('.', dot + 1))
    certificate = certificates.get(`*${serverName.slice(dot)}`);
  return certificate ?? certificates.get('');
}
