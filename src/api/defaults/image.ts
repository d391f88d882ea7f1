/** The default pull policy of an image. Upstream: pkg/util/parsers, SetDefaults_Container. */
import { parseImageReference } from '../image-reference.ts';

/** `Always` for the tag `latest` and for names with neither tag nor digest; else `IfNotPresent`, also for an invalid name. */
export function defaultPullPolicy(image: string): 'Always' | 'IfNotPresent' {
  try {
    const { tag, digest } = parseImageReference(image);
    return (tag ?? (digest === undefined ? 'latest' : undefined)) === 'latest' ? 'Always' : 'IfNotPresent';
  } catch {
    return 'IfNotPresent';
  }
}
