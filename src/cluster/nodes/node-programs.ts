/** The programs that further nodes need besides those of every node, with Debian's packages. */
export const NAMESPACE_PROGRAMS: readonly (readonly [program: string, debianPackage: string])[] = [
  ['unshare', 'util-linux'],
  ['nsenter', 'util-linux'],
  ['ip', 'iproute2'],
  ['bridge', 'iproute2'],
  ['nft', 'nftables'],
  ['sleep', 'coreutils'],
];
