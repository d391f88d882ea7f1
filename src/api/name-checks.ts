/** The checks that resources choose from for names of their objects. Upstream: apimachinery/pkg/api/validation/generic.go. */
import { isDns1123Subdomain, isLongName, isDns1123Label, isPathSegmentName } from './names.ts';

/** Replaces a trailing dash of a generateName prefix, as upstream does, so that it is not an error. */
export function maskTrailingDash(name: string): string {
  return name.length > 1 && name.endsWith('-') ? `${name.slice(0, -2)}a` : name;
}

/** A check of object names. `prefix` is true when the text is a generateName. */
export type NameCheck = (name: string, prefix: boolean) => string[];
/** Names that are DNS names: most resources. */
export const nameIsDnsSubdomain: NameCheck = (name, prefix) =>
  isDns1123Subdomain(prefix ? maskTrailingDash(name) : name);
/** `nameIsDnsSubdomain` with upstream's declarative validation: device classes. */
export const nameIsLongName: NameCheck = (name, prefix) => isLongName(prefix ? maskTrailingDash(name) : name);
/** Names that are DNS labels: namespaces, and services since v1.36. */
export const nameIsDnsLabel: NameCheck = (name, prefix) => isDns1123Label(prefix ? maskTrailingDash(name) : name);
/** Names that are path segments: roles. */
export const nameIsPathSegment: NameCheck = (name) => isPathSegmentName(name);
