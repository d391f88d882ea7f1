/**
 * The namespaces of one node: network, host name and mounts of its own, with a /sys that shows its devices and the machine's
 * cgroups. A process that only sleeps holds them, as a pod's pause does; whatever runs on the node is started inside. When the
 * last process in them has ended, the kernel takes mounts, devices, routes and rules away.
 */
import type { Platform } from '../../platform/platform.ts';
import { startTimeIn } from '../../platform/process-identity.ts';
import { OwnDaemon } from '../node/own-daemon.ts';
import type { NodePlace } from './nodes-file.ts';

type Deps = Platform;

/** `$1`: the host name. A resolver on the machine's loopback does not answer here; systemd-resolved lists those it asks. `/mnt` carries the cgroups over while /sys is changed; nobody outside sees it. */
const HOLD = `set -e
mount --make-rslave /
mount --make-rshared /
mount --rbind /sys/fs/cgroup /mnt
mount --make-rprivate /mnt
mount -t sysfs sysfs /sys
mount --rbind /mnt /sys/fs/cgroup
umount -l /mnt
resolved=/run/systemd/resolve/resolv.conf
if grep -q '^nameserver *127\\.' /etc/resolv.conf && [ -r $resolved ]; then mount --bind $resolved /etc/resolv.conf; fi
echo "$1" > /proc/sys/kernel/hostname
exec sleep infinity`;

const READY_TIMEOUT_MS = 10_000;
const READY_PERIOD_MS = 5;
const END_TIMEOUT_MS = 15_000;
const END_PERIOD_MS = 10;

/** The programs by which a node is made, with Debian's packages. */
export const NAMESPACE_PROGRAMS: readonly (readonly [string, string])[] = [
  ['unshare', 'util-linux'],
  ['nsenter', 'util-linux'],
  ['sleep', 'coreutils'],
];

export class NodeNamespaces {
  readonly #deps: Deps;
  readonly #place: NodePlace;
  readonly #holder: OwnDaemon;

  constructor(deps: Deps, place: NodePlace) {
    this.#deps = deps;
    this.#place = place;
    this.#holder = new OwnDaemon(deps, {
      recordFile: `${place.recordDir}/holder.json`,
      logFile: `${place.dataDir}/logs/namespaces.log`,
      marks: ['sleep', 'infinity'],
      graceMs: 0,
    });
  }

  /** The process that holds them; undefined where there are none. */
  holder(): Promise<number | undefined> {
    return this.#holder.pid();
  }

  /** Whether its process is there, asked of the kernel alone. */
  isHeld(): boolean {
    return this.#holder.isRunning();
  }

  /** Adopts or makes them; resolves to the process that holds them. */
  async ensure(): Promise<number> {
    const { clock, files } = this.#deps;
    const { name, recordDir, dataDir } = this.#place;
    await files.makeDir(recordDir, { mode: 0o700 });
    await files.makeDir(`${dataDir}/logs`, { mode: 0o750 });
    const script = ['unshare', '--net', '--uts', '--mount', '--', 'sh', '-c', HOLD, 'hold', name];
    await this.#holder.ensure({ command: script, configuration: [name] });
    const deadlineMs = clock.monotonicMs() + READY_TIMEOUT_MS;
    for (;;) {
      const pid = await this.holder();
      if (pid !== undefined) {
        await files.writeFileAtomic(`${recordDir}/uts`, await files.readLink(`/proc/${pid}/ns/uts`));
        return pid;
      }
      if (!this.isHeld() || clock.monotonicMs() > deadlineMs)
        throw new Error(`the namespaces of ${name} cannot be made; see ${dataDir}/logs/namespaces.log`);
      await clock.sleep(READY_PERIOD_MS);
    }
  }

  /** A command line that runs inside. */
  static inside(holder: number, command: readonly string[]): readonly string[] {
    return ['nsenter', '-t', String(holder), '-n', '-u', '-m', '--', ...command];
  }

  /** Kills everything in them, and the pods, whose namespaces are their own, by their cgroup. Resolves when all have ended. */
  async kill(cgroupRoot: string): Promise<void> {
    const { clock, exec, files } = this.#deps;
    const deadlineMs = clock.monotonicMs() + END_TIMEOUT_MS;
    const uts = await files.readText(`${this.#place.recordDir}/uts`).catch(() => undefined);
    for (;;) {
      const pids = await this.#processes(uts, cgroupRoot);
      for (const pid of pids) exec.kill(pid, 'SIGKILL');
      if (pids.length === 0) break;
      if (clock.monotonicMs() > deadlineMs)
        throw new Error(`processes of the node ${this.#place.name} do not end: ${pids.join(', ')}`);
      await clock.sleep(END_PERIOD_MS);
    }
    await files.remove(this.#place.recordDir);
  }

  async #processes(uts: string | undefined, cgroupRoot: string): Promise<readonly number[]> {
    const { files } = this.#deps;
    const isOurs = async (pid: string): Promise<boolean> => {
      // One that has ended and is not reaped cannot be killed.
      if (startTimeIn(await files.readText(`/proc/${pid}/stat`).catch(() => '')) === '') return false;
      if (uts !== undefined && (await files.readLink(`/proc/${pid}/ns/uts`).catch(() => '')) === uts) return true;
      const cgroups = await files.readText(`/proc/${pid}/cgroup`).catch(() => '');
      return cgroups.split('\n').some((line) => inCgroup(line, cgroupRoot));
    };
    const pids = (await files.readDir('/proc')).filter((name) => /^\d+$/.test(name));
    const ours = await Promise.all(pids.map(isOurs));
    return pids.filter((_, at) => ours[at]).map(Number);
  }
}

/** Whether a line of `/proc/PID/cgroup` is of this cgroup or one below it. */
function inCgroup(line: string, cgroupRoot: string): boolean {
  const path = line.split(':').slice(2).join(':');
  return path.endsWith(cgroupRoot) || path.includes(`${cgroupRoot}/`);
}
