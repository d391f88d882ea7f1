/** Reads the flags of configuration fields from the command line: `--flag=value`, `--flag value`, `--flag`. */
import { anyValue, anyValues, componentFlags, onlyDefault } from '../component-helpers/command-line/component-flags.ts';
import { type FixedFlag, type FixedFlags, noteOf } from '../component-helpers/command-line/fixed-flags.ts';
import { FlagError } from '../component-helpers/command-line/flags.ts';
import { CONFIGURATION_FLAGS, REPLACED_FLAGS } from '../kubelet/configuration/flags.ts';
import { UserError } from './usage-error.ts';

const RUNTIMES = 'the container runtime sees to it';
const NOBODY_LOCKS = 'one kubelet holds its directory anyway';
const MEASURED = 'usage is measured when it is asked for';

/** Upstream's kubelet flags without effect, and those of which only the default value is supported. */
const kubeletFixedFlags: FixedFlags = {
  ...Object.fromEntries(
    Object.entries(componentFlags).filter(([name]) => !CONFIGURATION_FLAGS.some(({ flag }) => flag === name)),
  ),
  'cloud-config': onlyDefault('', 'a cloud brings its own controller manager', 'not offered'),
  'exit-on-lock-contention': onlyDefault('false', NOBODY_LOCKS, 'always false here'),
  'lock-file': onlyDefault('', NOBODY_LOCKS, 'not offered'),
  'experimental-allocatable-ignore-eviction': onlyDefault('false', 'evictions are told from capacity', 'always false'),
  'experimental-mounter-path': onlyDefault('', 'mounts are made here', 'not offered'),
  'keep-terminated-pod-volumes': onlyDefault('false', 'volumes go with their pods', 'always false here'),
  'master-service-namespace': anyValue('default', 'the service kubernetes stands in default'),
  'maximum-dead-containers': anyValue('-1', 'dead containers go with their pods and by age'),
  'maximum-dead-containers-per-container': anyValue('1', 'one is kept for its log'),
  'minimum-container-ttl-duration': anyValue('0s', 'dead containers go when they are not needed'),
  'pod-infra-container-image': anyValue(
    'registry.k8s.io/pause:3.10.1',
    "the container runtime's own configuration names the sandbox image",
  ),
  'runtime-cgroups': anyValue('', RUNTIMES),
  ...anyValues(MEASURED, {
    'application-metrics-count-limit': '100',
    'boot-id-file': '/proc/sys/kernel/random/boot_id',
    'container-hints': '/etc/cadvisor/container_hints.json',
    'event-storage-age-limit': 'default=0',
    'event-storage-event-limit': 'default=0',
    'global-housekeeping-interval': '1m0s',
    'housekeeping-interval': '10s',
    'machine-id-file': '/etc/machine-id,/var/lib/dbus/machine-id',
  }),
  'enable-load-reader': onlyDefault('false', MEASURED, 'always false here'),
  'log-cadvisor-usage': onlyDefault('false', MEASURED, 'always false here'),
};

/** Values by flag, in the given order. Throws `UserError` for an unknown flag and names the successor of a removed one. */
export function collectFlags(args: readonly string[]): Record<string, string[]> {
  const flags: Record<string, string[]> = {};
  const rest = [...args];
  while (rest.length > 0) {
    const arg = rest.shift() as string;
    const match = /^--?([A-Za-z][\w-]*)(?:=([^]*))?$/.exec(arg);
    if (match === null) throw new UserError(`unknown command ${JSON.stringify(arg)}`, 2);
    const name = (match[1] as string).replaceAll('_', '-');
    const fixed = Object.hasOwn(kubeletFixedFlags, name) ? kubeletFixedFlags[name] : undefined;
    const configurationFlag = CONFIGURATION_FLAGS.find(({ flag }) => flag === name);
    const type = configurationFlag?.row.type ?? fixed?.type;
    if (type === undefined) throw unknown(name);
    // As upstream's parser: a flag of truth takes no separate word.
    const value = match[2] ?? (type === 'bool' ? 'true' : rest.shift());
    if (value === undefined) throw new UserError(`flag needs an argument: --${name}`, 2);
    if (fixed === undefined) (flags[name] ??= []).push(value);
    else warnOf(name, value, fixed);
  }
  return flags;
}

/** Prints the note of a flag without effect, or refuses its value. */
function warnOf(name: string, value: string, fixed: FixedFlag): void {
  try {
    const note = noteOf(name, value, fixed);
    if (note !== undefined) process.stderr.write(`keelson: ${note}\n`);
  } catch (error) {
    throw error instanceof FlagError ? new UserError(error.message, 2) : error;
  }
}

function unknown(name: string): UserError {
  const successor = REPLACED_FLAGS[name];
  if (successor === undefined) return new UserError(`unknown flag: --${name}`, 2);
  return new UserError(`--${name} is gone: ${successor}`, 2);
}
