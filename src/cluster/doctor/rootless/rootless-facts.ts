/** Facts about a machine for pods of an unprivileged user, as input of the checks. */

export interface RootlessFacts {
  readonly user: { readonly name: string; readonly uid: number };
  readonly namespaces: {
    /** `user.max_user_namespaces`; undefined: the kernel has no user namespaces. */
    readonly max: number | undefined;
    /** `kernel.unprivileged_userns_clone`; undefined: the kernel does not have it. */
    readonly isCloneAllowed: boolean | undefined;
    /** `kernel.apparmor_restrict_unprivileged_userns`, likewise. */
    readonly isRestricted: boolean | undefined;
    /** Why a namespace could not be created; undefined: it could. */
    readonly error: string | undefined;
  };
  /** The sizes of the user's ranges in `/etc/subuid` and `/etc/subgid`. */
  readonly subordinate: { readonly uids: number; readonly gids: number };
  /** Existing programs, of those searched for. */
  readonly programs: ReadonlySet<string>;
  readonly hasTun: boolean;
  readonly hasFuse: boolean;
  /** Why overlay could not be mounted in a user namespace; undefined: it could. */
  readonly overlayError: string | undefined;
  readonly cgroups: {
    readonly version: 1 | 2;
    /** Controllers that systemd delegates to the user; undefined: no delegation. */
    readonly delegated: readonly string[] | undefined;
  };
  /** `net.ipv4.ip_unprivileged_port_start`. */
  readonly firstPort: number;
}

/** Programs that are searched for, with Debian's packages. */
export const ROOTLESS_PROGRAMS: Readonly<Record<string, string>> = {
  newuidmap: 'uidmap',
  newgidmap: 'uidmap',
  slirp4netns: 'slirp4netns',
  pasta: 'passt',
  'fuse-overlayfs': 'fuse-overlayfs',
};
