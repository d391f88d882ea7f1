/**
 * The cluster's DNS as a small process of its own: `keelson dns-server` in a session of its own, with a kubeconfig of its
 * own identity. It outlives Keelson; a start adopts one that runs with the same configuration and replaces any other.
 */
import { sleepUnlessAborted } from '../../platform/clock.ts';
import type { Platform } from '../../platform/platform.ts';
import { ownProcess, recordedProcess, type RecordedProcess } from '../../platform/process-identity.ts';
import { logFailedRound } from '../../platform/unexpected.ts';
import type { Instance } from '../instance/instance.ts';
import { dnsAddress } from '../network/pod-network.ts';
import type { NodeConnection } from './node-connection.ts';

/** Its settings besides the address of the API. */
interface DnsSettings {
  /** Each `domain=address[:port],…`. */
  readonly stubDomains?: readonly string[];
}

export interface DnsDaemon {
  /** Runs and supervises it until the signal aborts; the process stays. Never rejects. */
  start(signal: AbortSignal): Promise<void>;
  healthy(): boolean;
  /** Ends it. */
  remove(): Promise<void>;
}

const CHECK_PERIOD_MS = 1000;
const CREDENTIALS_PERIOD_MS = 60 * 60_000;
/** Part of the configuration: a process that has credentials of another form is replaced. */
const CREDENTIALS_FORM = 'certificate in a file';

interface DaemonRecord extends RecordedProcess {
  readonly configHash: string;
}

/** Creates it. The connection is needed to start, not to remove. */
export function createDnsDaemon(
  platform: Platform,
  instance: Instance,
  connection: (Pick<NodeConnection, 'server' | 'writeDnsKubeconfig'> & DnsSettings) | undefined,
): DnsDaemon {
  const { clock, exec, files } = platform;
  const log = platform.log.child('dns');
  const recordFile = `${instance.runDir}/dns.json`;
  let current: RecordedProcess = { pid: 0 };
  const alive = async (candidate: RecordedProcess): Promise<boolean> => {
    if (candidate.pid <= 0 || !exec.kill(candidate.pid, 0)) return false;
    const { command = [] } = (await recordedProcess(files, candidate)) ?? {};
    return command.includes('dns-server') && command.includes(dnsKubeconfig(instance));
  };
  const readRecord = async (): Promise<DaemonRecord | undefined> => {
    if (!(await files.exists(recordFile))) return undefined;
    try {
      return JSON.parse(await files.readText(recordFile)) as DaemonRecord;
    } catch {
      return undefined; // Cut short by a crash: as if it were not there.
    }
  };
  const end = async (candidate: RecordedProcess): Promise<void> => {
    if (!(await alive(candidate))) return;
    exec.kill(candidate.pid, 'SIGTERM');
    for (let i = 0; i < 50 && (await alive(candidate)); i++) await clock.sleep(20);
    if (await alive(candidate)) exec.kill(candidate.pid, 'SIGKILL');
  };
  const ensure = async (): Promise<void> => {
    const command = dnsCommand(instance, connection?.stubDomains ?? []);
    const configHash = platform.crypto.sha256Hex(JSON.stringify([...command, connection?.server, CREDENTIALS_FORM]));
    const record = await readRecord();
    if (record !== undefined && (await alive(record))) {
      if (record.configHash === configHash) {
        current = record;
        return;
      }
      await end(record);
    }
    const pid = await exec.startDaemon(command[0] ?? '', command.slice(1), { logFile: `${instance.logDir}/dns.log` });
    current = { pid, startTime: (await ownProcess(files, pid))?.startTime };
    await files.writeFileAtomic(recordFile, JSON.stringify({ ...current, configHash } satisfies DaemonRecord));
  };
  return {
    healthy: () => current.pid > 0 && exec.kill(current.pid, 0),
    async start(signal) {
      let credentialsAtMs = -Infinity;
      while (!signal.aborted) {
        try {
          if (clock.monotonicMs() - credentialsAtMs >= CREDENTIALS_PERIOD_MS) {
            await connection?.writeDnsKubeconfig(dnsKubeconfig(instance));
            credentialsAtMs = clock.monotonicMs();
          }
          if (!(await alive(current))) await ensure();
        } catch (error) {
          logFailedRound(log, 'cannot start the DNS process', { err: error });
        }
        await sleepUnlessAborted(clock, CHECK_PERIOD_MS, signal);
      }
    },
    async remove() {
      await end((await readRecord()) ?? { pid: 0 });
      await files.remove(recordFile);
    },
  };
}

function dnsKubeconfig(instance: Instance): string {
  return `${instance.dataDir}/dns.kubeconfig`;
}

/** This same program, as a DNS server. */
function dnsCommand(instance: Instance, stubDomains: readonly string[]): string[] {
  const program = process.argv[1] ?? '';
  return [
    process.execPath,
    '--max-semi-space-size=1',
    program,
    'dns-server',
    '--kubeconfig',
    dnsKubeconfig(instance),
    '--listen',
    dnsAddress(instance.serviceCidr),
    '--domain',
    instance.clusterDomain,
    ...stubDomains.flatMap((stub) => ['--stub-domain', stub]),
  ];
}
