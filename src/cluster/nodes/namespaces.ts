/**
 * The namespaces of one node: network, host name and mounts of its own, with a /sys that shows its devices and the machine's
 * cgroups. A process that only sleeps holds them, as a pod's pause does; whatever runs on the node is started inside. When the
 * last process in them has ended, the kernel takes mounts, devices, routes and rules away.
 */
import type { Platform } from '../../platform/platform.ts';
import { startTimeIn } from '../../platform/process-identity.ts';
import { OwnDaemon } from '../node/own-daemon.ts';
import { NamespacePin } from './namespace-pin.ts';
import type { NodePlace } from './nodes-file.ts';

type Deps = Platform;

/**
 * `$1`: the host name. Network and UTS namespaces that others keep by mounts are not kept from here too. A resolver on the
 * machine's loopback does not answer here; systemd-resolved lists those it asks. `/mnt` carries the cgroups over while /sys is
 * changed; nobody outside sees it.
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

/** What the machine unmounts is unmounted there too: nothing is kept in use by a copy. */
const UNSHARE = ['unshare', '--net', '--uts', '--mount', '--propagation', 'slave', '--'] as const;

/** In the environment of a holder: it is found also where a start was cut short before anything of it was noted. */
const HOLDER_VARIABLE = 'KEELSON_NODE_HOLDER';

const READY_TIMEOUT_MS = 10_000;
const READY_PERIOD_MS = 5;
const END_TIMEOUT_MS = 15_000;
const END_PERIOD_MS = 10;

export class NodeNamespaces {
  readonly #deps: Deps;
  readonly #place: NodePlace;
  readonly #holder: OwnDaemon;
  readonly #pin: NamespacePin;

  constructor(deps: Deps, place: NodePlace) {
    this.#deps = deps;
    this.#place = place;
    this.#pin = new NamespacePin(deps, `${place.recordDir}/uts`);
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

  /** Whether a process holds them; of one that was started or adopted here one file is read. */
  async isHeld(): Promise<boolean> {
    return (await this.#holder.stillRuns()) || (await this.holder()) !== undefined;
  }

  /** Adopts or makes them; resolves to the process that holds them. */
  async ensure(): Promise<number> {
    const { clock, files } = this.#deps;
    const { name, recordDir, dataDir } = this.#place;
    await files.makeDir(recordDir, { mode: 0o700 });
    await files.makeDir(`${dataDir}/logs`, { mode: 0o750 });
    const script = [...UNSHARE, 'sh', '-c', HOLD, 'hold', name];
    await this.#holder.ensure({ command: script, configuration: [name], env: { [HOLDER_VARIABLE]: recordDir } });
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

  /** A command line that runs inside. */
  static inside(holder: number, command: readonly string[]): readonly string[] {
    return ['nsenter', '-t', String(holder), '-n', '-u', '-m', '--', ...command];
  }

  /** Kills everything in them, and the pods, whose namespaces are their own, by their cgroup. Resolves when all have ended. */
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

  async #isHolder(pid: number): Promise<boolean> {
    const environment = await this.#deps.files.readText(`/proc/${pid}/environ`).catch(() => '');
    return environment.split('\0').includes(`${HOLDER_VARIABLE}=${this.#place.recordDir}`);
  }

  async #processes(cgroupRoot: string): Promise<readonly number[]> {
    const { files } = this.#deps;
    const pids = (await files.readDir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
    // A start that was cut short has not pinned their namespaces yet.
    const holding = await Promise.all(pids.map((pid) => this.#isHolder(pid)));
    const holders = pids.filter((_, at) => holding[at]);
    const members = await this.#pin.members(pids, holders);
    const isOurs = async (pid: number): Promise<boolean> => {
      // One that has ended and is not reaped cannot be killed.
      if (startTimeIn(await files.readText(`/proc/${pid}/stat`).catch(() => '')) === '') return false;
      if (holders.includes(pid) || members.has(pid)) return true;
      const cgroups = await files.readText(`/proc/${pid}/cgroup`).catch(() => '');
      return cgroups.split('\n').some((line) => inCgroup(line, cgroupRoot));
    };
    const ours = await Promise.all(pids.map(isOurs));
    return pids.filter((_, at) => ours[at]);
  }
}

/** Whether a line of `/proc/PID/cgroup` is of this cgroup or one below it. */
function inCgroup(line: string, cgroupRoot: string): boolean {
  const path = line.split(':').slice(2).join(':');
  return path.endsWith(cgroupRoot) || path.includes(`${cgroupRoot}/`);
}
