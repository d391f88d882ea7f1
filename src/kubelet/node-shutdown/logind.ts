/**
 * Shutdowns announced by systemd-logind, delayed while pods terminate. Upstream: pkg/kubelet/nodeshutdown
 * (nodeshutdown_manager_linux.go and systemd/inhibit_linux.go).
 *
 * The signal PrepareForShutdown arrives over D-Bus. The inhibitor lock is a file descriptor passed over D-Bus, which
 * Node.js cannot receive: a systemd-inhibit process holds it for us, and ends with this process. Where logind's
 * maximum delay is shorter than pods may take, a drop-in overrides it, as upstream does.
 *
 * While logind cannot be reached or does not grant the delay, it is retried; each reason is logged once.
 */
import { onAbort } from '../../base/abort.ts';
import { errorMessage } from '../../base/errors.ts';
import { type Clock, sleepUnlessAborted } from '../../platform/clock.ts';
import type { Exec } from '../../platform/exec.ts';
import type { Files } from '../../platform/files.ts';
import type { Log } from '../../platform/log.ts';
import type { Net } from '../../platform/net.ts';
import { background } from '../../platform/unexpected.ts';
import type { DbusMessage } from '../dbus/dbus-codec.ts';
import { addMatch, connectDbus, type DbusConnection } from '../dbus/dbus-connection.ts';
import type { DbusValue } from '../dbus/dbus-wire.ts';
import { SYSTEM_BUS } from '../dbus/system-bus.ts';
import type { ShutdownSource } from './node-shutdown-manager.ts';

export interface LogindDeps {
  readonly net: Pick<Net, 'dial'>;
  readonly exec: Pick<Exec, 'run'>;
  readonly files: Pick<Files, 'makeDir' | 'writeFile'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** The grace period of all pods, and the inhibitor's name. */
export interface LogindConfig {
  readonly graceMs: number;
  readonly pid: number;
  readonly uid: number;
  /** Default: systemd's path. */
  readonly busSocket?: string;
}

const LOGIND = 'org.freedesktop.login1';
const LOGIND_PATH = '/org/freedesktop/login1';
const MANAGER = 'org.freedesktop.login1.Manager';
const DROP_IN_FOLDER = '/etc/systemd/logind.conf.d';
const DROP_IN = `${DROP_IN_FOLDER}/99-kubelet.conf`;
const WHO = 'kubelet';
const RETRY_MS = 1_000;
/** Waits until logind has reloaded its configuration, and until systemd-inhibit has its lock. */
const SETTLE_MS = 50;
const SETTLE_ROUNDS = 100;
const FOREVER_MS = 2 ** 31 - 1;

/** D-Bus is opened with the first listener. */
export function createLogindSource(deps: LogindDeps, config: LogindConfig): ShutdownSource {
  const log = deps.log.child('logind');
  let lock: AbortController | undefined;

  const release = (): void => {
    lock?.abort(new Error('the pods have ended'));
    lock = undefined;
  };

  /** Follows one connection until it ends. */
  async function follow(listener: (active: boolean) => void, signal: AbortSignal): Promise<void> {
    const made: { bus?: DbusConnection } = {};
    const hold = async (): Promise<void> => {
      if (made.bus === undefined) return;
      release();
      lock = await takeLock({ deps, bus: made.bus, pid: config.pid });
    };
    const onSignal = ({ interface: from, member, body }: DbusMessage): void => {
      if (from !== MANAGER || member !== 'PrepareForShutdown') return;
      const begins = body[0] === true;
      log.info(begins ? 'Shutdown manager detected new shutdown event' : 'Shutdown was cancelled');
      listener(begins);
      // The shutdown was cancelled: the lock is needed again for the next one.
      if (!begins) hold().catch((error: unknown) => log.error('Failed to take the inhibitor lock', { err: error }));
    };
    const stream = await deps.net.dial({ unixPath: config.busSocket ?? SYSTEM_BUS, signal });
    const connected = await connectDbus(stream, { uid: config.uid, onSignal });
    const unhook = onAbort(signal, () => connected.close());
    made.bus = connected;
    try {
      await ensureDelay(deps, connected, config.graceMs);
      await addMatch(
        connected,
        `type='signal',interface='${MANAGER}',member='PrepareForShutdown',path='${LOGIND_PATH}'`,
      );
      await hold();
      await connected.closed;
    } finally {
      unhook();
      connected.close();
      release();
    }
  }

  async function run(listener: (active: boolean) => void, signal: AbortSignal): Promise<void> {
    let output = '';
    while (!signal.aborted) {
      await follow(listener, signal).catch((error: unknown) => {
        const text = errorMessage(error);
        if (!signal.aborted && text !== output) log.error('Failed to start node shutdown manager', { err: error });
        output = text;
      });
      await sleepUnlessAborted(deps.clock, RETRY_MS, signal);
    }
  }

  return {
    onShutdown(listener) {
      const listening = new AbortController();
      background(log, 'logind is followed no more', run(listener, listening.signal));
      return () => listening.abort(new Error('nobody listens'));
    },
    release,
  };
}

async function delayMs({ call }: DbusConnection): Promise<number> {
  const [value = 0] = await call({
    destination: LOGIND,
    path: LOGIND_PATH,
    interface: 'org.freedesktop.DBus.Properties',
    member: 'Get',
    signature: 'ss',
    body: [MANAGER, 'InhibitDelayMaxUSec'],
  });
  return Number(value) / 1000;
}

/** Raises logind's maximum delay to the pods' grace period. @throws Error when logind does not apply it */
async function ensureDelay({ files, clock }: LogindDeps, bus: DbusConnection, graceMs: number): Promise<void> {
  if ((await delayMs(bus)) >= graceMs) return;
  await files.makeDir(DROP_IN_FOLDER, { mode: 0o755 });
  const text = `# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=${Math.ceil(graceMs / 1000)}\n`;
  await files.writeFile(DROP_IN, text, { mode: 0o644 });
  await bus.call({
    destination: 'org.freedesktop.systemd1',
    path: '/org/freedesktop/systemd1',
    interface: 'org.freedesktop.systemd1.Manager',
    member: 'KillUnit',
    signature: 'ssi',
    body: ['systemd-logind.service', 'all', 1], // SIGHUP reloads the configuration
  });
  for (let round = 0; round < SETTLE_ROUNDS; round++) {
    if ((await delayMs(bus)) >= graceMs) return;
    await clock.sleep(SETTLE_MS);
  }
  throw new Error(
    `node shutdown manager was unable to update logind InhibitDelayMaxSec to ${graceMs / 1000}s (ShutdownGracePeriod), current value of InhibitDelayMaxSec (${(await delayMs(bus)) / 1000}s) is less than requested ShutdownGracePeriod`,
  );
}

/** Starts the process that holds the lock; resolves once logind lists it. Aborting the result releases the lock. */
async function takeLock(input: { deps: LogindDeps; bus: DbusConnection; pid: number }): Promise<AbortController> {
  const { deps, bus, pid } = input;
  const { exec, clock } = deps;
  const lock = new AbortController();
  const holder = ['tail', '--pid', String(pid), '-f', '/dev/null'];
  const why = '--why=Kubelet needs time to handle node shutdown';
  let failure: Error | undefined;
  exec
    .run('systemd-inhibit', ['--what=shutdown', `--who=${WHO}`, why, '--mode=delay', ...holder], {
      signal: lock.signal,
      timeoutMs: FOREVER_MS,
    })
    .then(
      ({ exitCode, stderr }) => {
        failure = new Error(`systemd-inhibit ended with ${exitCode}: ${stderr.trim()}`);
        // Without the lock no shutdown is delayed: reconnect and take it again.
        bus.close();
      },
      (error: Error) => {
        failure = error;
        if (!lock.signal.aborted) bus.close();
      },
    );
  for (let round = 0; round < SETTLE_ROUNDS; round++) {
    if (await isHeld(bus).catch((error: Error) => Promise.reject(failure ?? error))) return lock;
    await clock.sleep(SETTLE_MS);
  }
  lock.abort(new Error('the lock was not granted'));
  throw new Error('systemd-logind does not know of the inhibitor lock');
}

async function isHeld({ call }: DbusConnection): Promise<boolean> {
  const to = { destination: LOGIND, path: LOGIND_PATH, interface: MANAGER, member: 'ListInhibitors' };
  const [inhibitors = []] = await call(to);
  return (inhibitors as readonly (readonly DbusValue[])[]).some(
    ([what, who, , mode]) => String(what).split(':').includes('shutdown') && who === WHO && mode === 'delay',
  );
}
