/** Parses versions of programs and kernels. Pure. */

/** The first version in a line, such as `1.6.20` in `containerd github.com/containerd/containerd 1.6.20~ds1`. */
export function versionIn(line: string): string | undefined {
  return /(?<![\w.])v?(\d+(?:\.\d+)+)/.exec(line)?.[1];
}

/** Whether a version is at least the other, by their leading numbers. */
export function isAtLeast(version: string, oldest: string): boolean {
  const numbers = (text: string): number[] => (/^\d+(\.\d+)*/.exec(text)?.[0] ?? '0').split('.').map(Number);
  const [own, other] = [numbers(version), numbers(oldest)];
  for (const [index, wanted] of other.entries()) {
    const number = own[index] ?? 0;
    if (number !== wanted) return number > wanted;
  }
  return true;
}
