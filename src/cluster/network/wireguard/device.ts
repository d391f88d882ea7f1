/**
 * The WireGuard device of an instance: the kernel's where it has WireGuard, else one of the program wireguard-go, which
 * runs in a session of its own, outlives Keelson and ends with its device.
 */
import type { Files } from '../../../platform/files.ts';
import type { Platform } from '../../../platform/platform.ts';
import { runOrThrow } from '../../../platform/run-or-throw.ts';
import { missingPrograms } from '../../instance/preflight.ts';
import type { Instance } from '../../instance/instance.ts';
import { OwnDaemon } from '../../node/own-daemon.ts';
import { hasDevice, runBatch } from '../kernel-routes.ts';

type Names = Pick<Instance, 'wireguardDevice' | 'runDir' | 'logDir'>;

const APPEAR_PATIENCE_MS = 5_000;
const APPEAR_PERIOD_MS = 20;
const END_GRACE_MS = 1_000;
/** Errors alone are logged, and no notice that other kernels have WireGuard. */
const DAEMON_ENVIRONMENT = { LOG_LEVEL: 'error', WG_PROCESS_FOREGROUND: '1' };

/** What is missing, each with its Debian package. `kernelMakes`: whether the kernel makes WireGuard devices. */
export async function missingForWireguard(
  files: Files,
  kernelMakes: () => Promise<boolean>,
): Promise<readonly string[]> {
  const missing = await missingPrograms(files, [['wg', 'wireguard-tools']]);
  if (await kernelMakes()) return missing;
  return [...missing, ...(await missingPrograms(files, [['wireguard-go', 'wireguard-go']]))];
}

/** Tries it with a device that is removed again, unless there is one. */
export async function kernelMakesWireguard(
  { exec, files }: Pick<Platform, 'exec' | 'files'>,
  device: string,
): Promise<boolean> {
  if (await hasDevice({ files }, device)) return true;
  const made = await exec.run('ip', ['link', 'add', device, 'type', 'wireguard']);
  if (made.exitCode !== 0) return false;
  await runOrThrow(exec, ['ip', 'link', 'del', device]);
  return true;
}

export class WireguardDevice {
  readonly #platform: Platform;
  readonly #device: string;
  readonly #daemon: OwnDaemon;
  #isDaemonNeeded = false;

  constructor(platform: Platform, instance: Names) {
    this.#platform = platform;
    this.#device = instance.wireguardDevice;
    this.#daemon = daemonOf(platform, instance);
  }

  /** False when wireguard-go has ended. */
  isAlive(): boolean {
    return !this.#isDaemonNeeded || this.#daemon.isRunning();
  }

  /** Makes the device, or adopts the one that is there. */
  async ensure(): Promise<void> {
    const device = this.#device;
    if (await hasDevice(this.#platform, device)) {
      this.#isDaemonNeeded = await this.#platform.files.exists(`/sys/class/net/${device}/tun_flags`);
      if (!this.#isDaemonNeeded) return;
    } else {
      const made = await this.#platform.exec.run('ip', ['link', 'add', device, 'type', 'wireguard']);
      this.#isDaemonNeeded = made.exitCode !== 0;
      if (!this.#isDaemonNeeded) return;
    }
    const command = ['wireguard-go', '-f', device];
    await this.#daemon.ensure({ command, configuration: command, env: DAEMON_ENVIRONMENT });
    await this.#appears();
  }

  async #appears(): Promise<void> {
    const { clock } = this.#platform;
    const untilMs = clock.monotonicMs() + APPEAR_PATIENCE_MS;
    while (!(await hasDevice(this.#platform, this.#device))) {
      if (!this.#daemon.isRunning() || clock.monotonicMs() > untilMs)
        throw new Error('wireguard-go has made no device; its log is wireguard.log');
      await clock.sleep(APPEAR_PERIOD_MS);
    }
  }
}

/** Ends wireguard-go and removes the device; missing ones are no error. */
export async function removeWireguardDevice(platform: Platform, instance: Names): Promise<void> {
  if (await hasDevice(platform, instance.wireguardDevice))
    await runBatch(platform, 'ip', [`link del ${instance.wireguardDevice}`]);
  await daemonOf(platform, instance).remove();
}

function daemonOf(platform: Platform, { wireguardDevice, runDir, logDir }: Names): OwnDaemon {
  return new OwnDaemon(platform, {
    recordFile: `${runDir}/wireguard.json`,
    logFile: `${logDir}/wireguard.log`,
    marks: ['-f', wireguardDevice],
    graceMs: END_GRACE_MS,
  });
}
