/**
 * The namespaces of one node: its own network, host name and mounts, with a /sys that shows the node's devices and
 * the machine's cgroups. A sleeping process holds them, like a pod's pause container; everything on the node is
 * started inside them. When the last process in them has ended, the kernel removes mounts, devices, routes and rules.
 */
import type { Platform } from '../../platform/platform.ts';
import { startTimeIn } from '../../platform/process-identity.ts';
import { isDaemonOf, OwnDaemon } from '../node/own-daemon.ts';
import { cgroupPaths, isInCgroup } from './cgroup-paths.ts';
import { NamespacePin } from './namespace-pin.ts';
import type { NodeLocation } from './nodes-file.ts';

type Deps = Platform;

/**
 * The holder's script; `$1` is the host name. It unmounts other programs' pins of network and UTS namespaces, so that
 * this copy does not keep them. A resolver on the machine's loopback is unreachable here, so systemd-resolved's list
 * of upstream servers is used. `/mnt` keeps the cgroup mounts while /sys is replaced; nobody outside sees it.
 */
const HOLD = `set -e
mounts=$(cat /proc/self/mountinfo)
printf '%s\n' "$mounts" | while read -r _ _ _ _ point rest; do
  case "$rest" in *' - nsfs '*) umount -l "$point" || true ;; esac
done
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

/** Unmounts of the machine propagate into the namespaces, so that the copies keep nothing in use. */
const UNSHARE = ['unshare', '--net', '--uts', '--mount', '--propagation', 'slave', '--'] as const;

const READY_TIMEOUT_MS = 10_000;
const READY_PERIOD_MS = 5;
const END_TIMEOUT_MS = 15_000;
const END_PERIOD_MS = 10;

export class NodeNamespaces {
  readonly #deps: Deps;
  readonly #place: NodeLocation;
  readonly #holder: OwnDaemon;
  readonly #pin: NamespacePin;
  readonly #recordFile: string;

  constructor(deps: Deps, place: NodeLocation) {
    this.#deps = deps;
    this.#place = place;
    this.#pin = new NamespacePin(deps, `${place.recordDir}/uts`);
    this.#recordFile = `${place.recordDir}/holder.json`;
    this.#holder = new OwnDaemon(deps, {
      recordFile: this.#recordFile,
      logFile: `${place.dataDir}/logs/namespaces.log`,
      marks: ['sleep', 'infinity'],
      graceMs: 0,
    });
  }

  /** The pid of the process that holds the namespaces; undefined where there are none. */
  holder(): Promise<number | undefined> {
    return this.#holder.pid();
  }

  /** Whether a process holds the namespaces. When it was started or adopted here, one file is read. */
  async isHeld(): Promise<boolean> {
    return (await this.#holder.stillRuns()) || (await this.holder()) !== undefined;
  }

  /** Adopts or creates the namespaces; resolves to the pid of the process that holds them. */
  async ensure(): Promise<number> {
    const { clock, files } = this.#deps;
    const { name, recordDir, dataDir } = this.#place;
    await files.makeDir(recordDir, { mode: 0o700 });
    await files.makeDir(`${dataDir}/logs`, { mode: 0o750 });
    const script = [...UNSHARE, 'sh', '-c', HOLD, 'hold', name];
    await this.#holder.ensure({ command: script, configuration: [name] });
    const deadlineMs = clock.monotonicMs() + READY_TIMEOUT_MS;
    for (;;) {
      const pid = await this.holder();
      if (pid !== undefined) {
        await this.#pin.set(pid);
        if (await this.isHeld()) return pid;
      }
      if (!(await this.isHeld()) || clock.monotonicMs() > deadlineMs)
        throw new Error(`the namespaces of ${name} cannot be made; see ${dataDir}/logs/namespaces.log`);
      await clock.sleep(READY_PERIOD_MS);
    }
  }

  /** The command line that runs `command` inside the namespaces. */
  static inside(holder: number, command: readonly string[]): readonly string[] {
    return ['nsenter', '-t', String(holder), '-n', '-u', '-m', '--', ...command];
  }

  /**
   * Kills all processes in the namespaces and, by their cgroup, the pods, which have their own. Resolves when all
   * have ended.
   */
  async kill(cgroupRoot: string): Promise<void> {
    const { clock, exec, files } = this.#deps;
    const deadlineMs = clock.monotonicMs() + END_TIMEOUT_MS;
    for (;;) {
      const pids = await this.#processes(cgroupRoot);
      for (const pid of pids) exec.kill(pid, 'SIGKILL');
      if (pids.length === 0) break;
      if (clock.monotonicMs() > deadlineMs)
        throw new Error(`processes of the node ${this.#place.name} do not end: ${pids.join(', ')}`);
      await clock.sleep(END_PERIOD_MS);
    }
    await this.#pin.remove();
    await files.remove(this.#place.recordDir);
  }

  async #processes(cgroupRoot: string): Promise<readonly number[]> {
    const { files } = this.#deps;
    const pids = (await files.readDir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
    // An interrupted start has neither recorded the holder nor pinned its namespaces.
    const holding = await Promise.all(pids.map((pid) => isDaemonOf(files, this.#recordFile, pid)));
    const holders = pids.filter((_, at) => holding[at]);
    const members = await this.#pin.members(pids, holders);
    const paths = cgroupPaths(await files.readText('/proc/self/mountinfo').catch(() => ''), cgroupRoot);
    const isOurs = async (pid: number): Promise<boolean> => {
      // A process that has ended but is not reaped cannot be killed.
      if (startTimeIn(await files.readText(`/proc/${pid}/stat`).catch(() => '')) === '') return false;
      if (holders.includes(pid) || members.has(pid)) return true;
      const cgroups = await files.readText(`/proc/${pid}/cgroup`).catch(() => '');
      return cgroups.split('\n').some((line) => isInCgroup(line, paths));
    };
    const ours = await Promise.all(pids.map(isOurs));
    return pids.filter((_, at) => ours[at]);
  }
}
