/**
 * Validates texts of pods and volumes that become arguments of the node's programs or parts of paths. Whoever may
 * create a pod writes them, and the programs run as root. Upstream's validation only requires that they are not
 * empty.
 */

/** The allowed form of a text. */
export type ArgumentForm = keyof typeof FORMS;

/** Each form excludes a leading dash, which would make it an option, and control characters. */
const FORMS = {
  text: /^(?!-)[^\p{Cc}]+$/u,
  // Shell scripts split at spaces, and iscsiadm makes file names of these texts.
  name: /^(?![-.])[\w.:@%+-]+$/,
  host: /^(?:[A-Za-z0-9][\w.-]*|\[[0-9A-Fa-f:.]+(?:%[\w.-]+)?\]|[0-9A-Fa-f:.]+(?:%[\w.-]+)?)(?::\d{1,5})?$/,
  // Ceph's monitors may have a protocol and a nonce: `v1:10.0.0.1:6789/0`.
  monitor: /^[\w.:[][\w.:%/[\]-]*$/,
  // No dots: `mount -t fuse.NAME` runs the program NAME.
  fileSystem: /^[A-Za-z0-9][\w-]*$/,
  absolutePath: /^(?!.*\/\.\.?(?:\/|$))\/[^\p{Cc},]+$/u,
} as const;

const MAX_LENGTH = 4096;

/** The text when it has the form; throws with the field's name otherwise. */
export function toolArgument(field: string, value: string, form: ArgumentForm): string {
  if (value.length <= MAX_LENGTH && FORMS[form].test(value)) return value;
  const shown = JSON.stringify(value.slice(0, 100));
  throw new Error(`invalid ${field}: ${shown} cannot be given to a program of the node (${form} expected)`);
}
