/** The pull policy an image's tag suggests. Upstream: pkg/util/parsers, SetDefaults_Container. */

/** `Always` for `latest` or no tag at all, else `IfNotPresent`. */
export function defaultPullPolicy(image: string): 'Always' | 'IfNotPresent' {
  if (image.includes('@')) return /:latest@/.test(image) ? 'Always' : 'IfNotPresent';
  const name = image.slice(image.lastIndexOf('/') + 1);
  const colon = name.indexOf(':');
  return colon < 0 || name.slice(colon + 1) === 'latest' ? 'Always' : 'IfNotPresent';
}
