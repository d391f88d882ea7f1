/**
 * Which runtimes can mount images as volumes. CRI has no way to ask: a runtime that cannot ignores the image of a
 * mount and fails on its empty path. Upstream does not check.
 */

const FIRST_VERSIONS: Readonly<Record<string, readonly [major: number, minor: number]>> = {
  containerd: [2, 1],
  'cri-o': [1, 31],
};

/** Why the runtime cannot; undefined: it can, as far as is known. */
export function imageVolumeProblem(runtimeName: string, runtimeVersion: string): string | undefined {
  const first = Object.hasOwn(FIRST_VERSIONS, runtimeName) ? FIRST_VERSIONS[runtimeName] : undefined;
  const match = /^v?(\d+)\.(\d+)/.exec(runtimeVersion);
  if (first === undefined || match === null) return undefined;
  const [major, minor] = [Number(match[1]), Number(match[2])];
  if (major > first[0] || (major === first[0] && minor >= first[1])) return undefined;
  return `${runtimeName} ${runtimeVersion} does not support image volumes, ${runtimeName} ${first.join('.')} or later does`;
}
