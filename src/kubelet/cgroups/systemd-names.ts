/**
 * Names of cgroups under systemd: a slice's name contains the names of all slices above it, joined by dashes, so a
 * dash within a name becomes an underscore. Upstream: ToSystemd and ParseSystemdToCgroupName in pkg/kubelet/cm.
 */

const UNIT = /\.(slice|scope|service)$/;
/** systemd's name of the root. */
export const ROOT_SLICE = '-.slice';

/** A unit, and its directory below the mount. */
export interface SliceName {
  readonly unit: string;
  readonly path: string;
}

/** `/kubepods/burstable/pod1-2` is the unit `kubepods-burstable-pod1_2.slice`. A path of units stays as it is. */
export function sliceNameOf(name: string): SliceName {
  const parts = name.split('/').filter((part) => part !== '');
  if (parts.length === 0) return { unit: ROOT_SLICE, path: '/' };
  if (parts.every((part) => UNIT.test(part))) return { unit: parts.at(-1)!, path: name };
  const escaped = parts.map((part) => part.replaceAll('-', '_'));
  const units = escaped.map((_, depth) => `${escaped.slice(0, depth + 1).join('-')}.slice`);
  return { unit: units.at(-1)!, path: `/${units.join('/')}` };
}

export function parentSliceOf({ path }: SliceName): string {
  return path.split('/').at(-2) || ROOT_SLICE;
}

/** The cgroup's name of a directory below `parent`; other directories than slices below it keep their name. */
export function childNameOf(parent: SliceName, directory: string): string {
  const prefix = parent.unit === ROOT_SLICE ? '' : `${parent.unit.replace(/\.slice$/, '')}-`;
  if (!directory.startsWith(prefix) || !directory.endsWith('.slice')) return directory;
  return directory.slice(prefix.length, -'.slice'.length).replaceAll('_', '-');
}
