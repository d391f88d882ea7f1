/** The kernel's table of mounts. Upstream: k8s.io/mount-utils ParseMountInfo. */
import type { MountPoint } from '../mounter.ts';

/**
 * Parses `/proc/self/mountinfo`: `36 35 98:0 /root /mount/point rw,noatime shared:1 - ext4 /dev/sda rw`. Lines it cannot
 * read are left out. Options are those of the mount, then those of the file system.
 */
export function parseMountInfo(text: string): MountPoint[] {
  const mounts: MountPoint[] = [];
  for (const line of text.split('\n')) {
    const fields = line.split(' ');
    const separator = fields.indexOf('-', 6);
    if (separator < 0 || fields.length < separator + 4) continue;
    const [type, source, superOptions] = fields.slice(separator + 1);
    mounts.push({
      source: unescapePath(source!),
      path: unescapePath(fields[4]!),
      type: type!,
      options: [...new Set([...fields[5]!.split(','), ...superOptions!.split(',')])],
    });
  }
  return mounts;
}

/** The kernel writes space, tab, newline and backslash as three octal digits, byte by byte. */
function unescapePath(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(/\\([0-7]{3})/g, (_match, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}
