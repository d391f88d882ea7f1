/**
 * The cluster's DNS as a process of its own: `keelson dns-server` in its own session, with its own identity in a
 * kubeconfig.
 */
import { sleepUnlessAborted } from '../../platform/clock.ts';
import type { Platform } from '../../platform/platform.ts';
import { logFailedRound } from '../../platform/unexpected.ts';
import type { Instance } from '../instance/instance.ts';
import { dnsAddress } from '../network/pod-network.ts';
import type { NodeConnection } from './node-connection.ts';
import { OwnDaemon } from './own-daemon.ts';

/** The DNS settings besides the API's address. */
interface DnsSettings {
  /** `domain=address[:port],…` each. */
  readonly stubDomains?: readonly string[];
}

export interface DnsDaemon {
  /** Starts and supervises the process until the signal aborts; the process keeps running. Never rejects. */
  start(signal: AbortSignal): Promise<void>;
  healthy(): boolean;
  /** Ends the DNS process. */
  remove(): Promise<void>;
}

const CHECK_PERIOD_MS = 1000;
const CREDENTIALS_PERIOD_MS = 60 * 60_000;
const END_GRACE_MS = 1000;
/** Part of the configuration, so that a process with credentials of an earlier form is replaced. */
const CREDENTIALS_FORM = 'certificate in a file';

/** `connection` is needed by `start`, not by `remove`. */
export function createDnsDaemon(
  platform: Platform,
  instance: Instance,
  connection: (Pick<NodeConnection, 'server' | 'writeDnsKubeconfig'> & DnsSettings) | undefined,
): DnsDaemon {
  const { clock } = platform;
  const log = platform.log.child('dns');
  const daemon = new OwnDaemon(platform, {
    recordFile: `${instance.runDir}/dns.json`,
    logFile: `${instance.logDir}/dns.log`,
    marks: ['dns-server', dnsKubeconfig(instance)],
    graceMs: END_GRACE_MS,
  });
  return {
    healthy: () => daemon.isRunning(),
    async start(signal) {
      const command = dnsCommand(instance, connection?.stubDomains ?? []);
      const configuration = [...command, connection?.server, CREDENTIALS_FORM];
      let credentialsAtMs = -Infinity;
      while (!signal.aborted) {
        try {
          if (clock.monotonicMs() - credentialsAtMs >= CREDENTIALS_PERIOD_MS) {
            await connection?.writeDnsKubeconfig(dnsKubeconfig(instance));
            credentialsAtMs = clock.monotonicMs();
          }
          if (!(await daemon.isAlive())) await daemon.ensure({ command, configuration });
        } catch (error) {
          logFailedRound(log, 'cannot start the DNS process', { err: error });
        }
        await sleepUnlessAborted(clock, CHECK_PERIOD_MS, signal);
      }
    },
    remove: () => daemon.remove(),
  };
}

function dnsKubeconfig(instance: Instance): string {
  return `${instance.dataDir}/dns.kubeconfig`;
}

/** The command line that runs this program as a DNS server. */
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
