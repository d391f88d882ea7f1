/**
 * Security contexts beside the user an image names, and what must come of each. Unit tests compare the CRI request on the
 * simulated runtime; test/integration compares the facts a process sees on a real containerd. Upstream:
 * kuberuntime/security_context.go, pkg/securitycontext.
 */
import type { PodSecurityContext, SecurityContext } from '../../api/gen/core-v1.ts';
import type { LinuxContainerSecurityContext } from '../../cri/gen/cri-types.ts';
import type { Init } from '../../cri/call-options.ts';

/** The USER line of each image. `bob` is user 1001, group 1002 of the image's files. */
export const imageUsers = {
  none: undefined,
  zero: '0',
  rootName: 'root',
  numeric: '1000',
  named: 'bob',
  withGroup: '1000:2000',
  namedWithGroup: 'bob:2000',
} as const;

/** The process in the container as /proc describes it. */
export interface ProcessFacts {
  readonly uid: number;
  readonly gid: number;
  /** Supplementary groups besides the process's own. */
  readonly groups: readonly number[];
  /** Bounding set. */
  readonly capabilities: 'none' | 'default' | 'all' | string;
  readonly noNewPrivileges: boolean;
  readonly seccomp: boolean;
  readonly rootWritable: boolean;
  /** /proc/keys is hidden and /proc/sys is read-only. */
  readonly masked: boolean;
  readonly shmRmidForced: string;
}

export interface SecurityRow {
  readonly about: string;
  readonly image: keyof typeof imageUsers;
  readonly pod?: PodSecurityContext;
  readonly container?: SecurityContext;
  /** The container is refused with this message. */
  readonly refused?: RegExp;
  /** The runtime refuses the pod's sandbox with this message. */
  readonly sandboxRefused?: RegExp;
  /** The expected fields of the CRI request. */
  readonly request?: Init<LinuxContainerSecurityContext>;
  /** The differences from a plain container. */
  readonly facts?: Partial<ProcessFacts>;
}

/** The facts of a container without any security context in an image without a user. */
export const plainFacts: ProcessFacts = {
  uid: 0,
  gid: 0,
  groups: [],
  capabilities: 'default',
  noNewPrivileges: false,
  seccomp: false,
  rootWritable: true,
  masked: true,
  shmRmidForced: '0',
};

const AS_ROOT = /container has runAsNonRoot and image will run as root \(pod: "[^"]+", container: [^)]+\)/;
const BY_NAME = /container has runAsNonRoot and image has non-numeric user \(\w+\), cannot verify user is non-root/;
const BREAKS = /container's runAsUser breaks non-root policy/;
const numeric = { uid: 1000 };
const nonRoot = { runAsNonRoot: true };

const userRows: readonly SecurityRow[] = [
  { about: 'no user', image: 'none', request: { runAsUser: { value: 0 }, runAsUsername: '' }, facts: {} },
  { about: 'user 0', image: 'zero', request: { runAsUser: { value: 0 }, runAsUsername: '' }, facts: {} },
  { about: 'user 1000', image: 'numeric', request: { runAsUser: { value: 1000 } }, facts: numeric },
  {
    about: 'a user by name',
    image: 'named',
    request: { runAsUser: undefined, runAsUsername: 'bob' },
    facts: { uid: 1001, gid: 1002 },
  },
  // Upstream hands over the uid alone: the image's group is lost.
  { about: 'a user with a group', image: 'withGroup', request: { runAsUser: { value: 1000 } }, facts: numeric },
  {
    about: 'a name with a group',
    image: 'namedWithGroup',
    request: { runAsUsername: 'bob' },
    facts: { uid: 1001, gid: 1002 },
  },
  {
    about: 'runAsGroup over no user',
    image: 'none',
    container: { runAsGroup: 77 },
    request: { runAsUser: { value: 0 }, runAsGroup: { value: 77 } },
    facts: { gid: 77 },
  },
  {
    about: "the pod's runAsGroup without a user",
    image: 'numeric',
    pod: { runAsGroup: 77 },
    sandboxRefused: /user group "77" is specified without user/,
  },
  {
    about: 'runAsUser over a name',
    image: 'named',
    container: { runAsUser: 55, runAsGroup: 66 },
    request: { runAsUser: { value: 55 }, runAsUsername: '' },
    facts: { uid: 55, gid: 66 },
  },
  {
    about: "the container's user over the pod's",
    image: 'none',
    pod: { runAsUser: 11, runAsGroup: 12, fsGroup: 13, supplementalGroups: [14, 15] },
    container: { runAsUser: 21 },
    request: { runAsUser: { value: 21 }, runAsGroup: { value: 12 }, supplementalGroups: [13, 14, 15] },
    facts: { uid: 21, gid: 12, groups: [13, 14, 15] },
  },
  {
    about: 'a runAsUser of 0 over a user',
    image: 'numeric',
    container: { runAsUser: 0 },
    request: { runAsUser: { value: 0 } },
    facts: {},
  },
];

const nonRootRows: readonly SecurityRow[] = [
  ...(['pod', 'container'] as const).flatMap((level): SecurityRow[] => [
    { about: `${level} non-root, no user`, image: 'none', [level]: nonRoot, refused: AS_ROOT },
    { about: `${level} non-root, user 0`, image: 'zero', [level]: nonRoot, refused: AS_ROOT },
    { about: `${level} non-root, root by name`, image: 'rootName', [level]: nonRoot, refused: BY_NAME },
    { about: `${level} non-root, a name`, image: 'named', [level]: nonRoot, refused: BY_NAME },
    { about: `${level} non-root, a name with a group`, image: 'namedWithGroup', [level]: nonRoot, refused: BY_NAME },
    { about: `${level} non-root, user 1000`, image: 'numeric', [level]: nonRoot, facts: numeric },
    { about: `${level} non-root, 1000:2000`, image: 'withGroup', [level]: nonRoot, facts: numeric },
    {
      about: `${level} non-root, user 0 asked for`,
      image: 'numeric',
      [level]: { ...nonRoot, runAsUser: 0 },
      refused: BREAKS,
    },
    {
      about: `${level} non-root, user 5 asked for`,
      image: 'none',
      [level]: { ...nonRoot, runAsUser: 5 },
      facts: { uid: 5 },
    },
  ]),
  {
    about: 'a container that is let off by its own false',
    image: 'none',
    pod: nonRoot,
    container: { runAsNonRoot: false },
    facts: {},
  },
  {
    about: "the pod's user 0 beside the container's demand",
    image: 'numeric',
    pod: { runAsUser: 0 },
    container: nonRoot,
    refused: BREAKS,
  },
  {
    about: "the container's demand met by the pod's user",
    image: 'none',
    pod: { runAsUser: 9 },
    container: nonRoot,
    facts: { uid: 9 },
  },
];

const powerRows: readonly SecurityRow[] = [
  {
    about: 'all capabilities dropped',
    image: 'none',
    container: { capabilities: { drop: ['ALL'] } },
    facts: { capabilities: 'none' },
  },
  {
    about: 'all dropped, one added',
    image: 'none',
    container: { capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] } },
    facts: { capabilities: '0000000000000400' },
  },
  {
    about: 'all capabilities added',
    image: 'none',
    container: { capabilities: { add: ['ALL'] } },
    facts: { capabilities: 'all' },
  },
  {
    about: 'no escalation',
    image: 'none',
    container: { allowPrivilegeEscalation: false },
    request: { noNewPrivs: true },
    facts: { noNewPrivileges: true },
  },
  {
    about: 'no escalation beside SYS_ADMIN',
    image: 'none',
    container: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'], add: ['SYS_ADMIN'] } },
    request: { noNewPrivs: true },
    facts: { noNewPrivileges: true, capabilities: '0000000000200000' },
  },
  {
    about: 'escalation allowed',
    image: 'none',
    container: { allowPrivilegeEscalation: true },
    request: { noNewPrivs: false },
    facts: {},
  },
  {
    about: 'privileged',
    image: 'none',
    container: { privileged: true, seccompProfile: { type: 'RuntimeDefault' } },
    request: { privileged: true, maskedPaths: [], readonlyPaths: [], noNewPrivs: false },
    facts: { capabilities: 'all', masked: false },
  },
  {
    about: 'a read-only root',
    image: 'none',
    container: { readOnlyRootFilesystem: true },
    request: { readonlyRootfs: true },
    facts: { rootWritable: false },
  },
  {
    about: 'unmasked paths',
    image: 'none',
    container: { procMount: 'Unmasked' },
    request: { maskedPaths: [], readonlyPaths: [] },
    facts: { masked: false },
  },
  { about: 'default paths', image: 'none', container: { procMount: 'Default' }, facts: {} },
];

const filterRows: readonly SecurityRow[] = [
  {
    about: "the container's seccomp profile",
    image: 'none',
    container: { seccompProfile: { type: 'RuntimeDefault' } },
    request: { seccomp: { profileType: 'RuntimeDefault' } },
    facts: { seccomp: true },
  },
  {
    about: "the pod's seccomp profile",
    image: 'none',
    pod: { seccompProfile: { type: 'RuntimeDefault' } },
    request: { seccomp: { profileType: 'RuntimeDefault' } },
    facts: { seccomp: true },
  },
  {
    about: "the container's seccomp profile over the pod's",
    image: 'none',
    pod: { seccompProfile: { type: 'RuntimeDefault' } },
    container: { seccompProfile: { type: 'Unconfined' } },
    request: { seccomp: { profileType: 'Unconfined' } },
    facts: {},
  },
  {
    about: 'a local seccomp profile without a path',
    image: 'none',
    container: { seccompProfile: { type: 'Localhost' } },
    refused: /localhostProfile must be set if seccompProfile type is Localhost/,
  },
  {
    about: 'a local seccomp profile that does not exist',
    image: 'none',
    container: { seccompProfile: { type: 'Localhost', localhostProfile: 'none.json' } },
    request: { seccomp: { profileType: 'Localhost', localhostRef: '/var/kubelet/seccomp/none.json' } },
  },
  {
    about: "the pod's AppArmor profile, unconfined",
    image: 'none',
    pod: { appArmorProfile: { type: 'Unconfined' } },
    request: { apparmor: { profileType: 'Unconfined' } },
    facts: {},
  },
  {
    about: 'a local AppArmor profile',
    image: 'none',
    container: { appArmorProfile: { type: 'Localhost', localhostProfile: 'k8s-none' } },
    request: { apparmor: { profileType: 'Localhost', localhostRef: 'k8s-none' } },
  },
  {
    about: 'a kernel setting',
    image: 'none',
    pod: { sysctls: [{ name: 'kernel.shm_rmid_forced', value: '1' }] },
    facts: { shmRmidForced: '1' },
  },
];

/** The whole table. */
export const securityRows: readonly SecurityRow[] = [...userRows, ...nonRootRows, ...powerRows, ...filterRows];
