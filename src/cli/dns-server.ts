/** `keelson dns-server`: cluster DNS as a process of its own. `keelson up` starts it; users do not. */
import { Command } from 'commander';
import { logContained } from './last-net.ts';

interface RawDnsOptions {
  readonly kubeconfig: string;
  readonly listen: string;
  readonly domain: string;
  readonly stubDomain?: readonly string[];
}

const PORT = 53;

/** The command, hidden from the help. */
export function dnsServerCommand(): Command {
  return new Command('dns-server')
    .requiredOption('--kubeconfig <file>', 'how to reach the API')
    .requiredOption('--listen <address>', 'address to answer on, UDP and TCP, port 53')
    .option('--stub-domain <domain=servers...>', 'name servers of a domain')
    .option('--domain <name>', 'DNS domain of services', 'cluster.local')
    .action(async (raw: RawDnsOptions) => {
      const { parseStubDomain } = await import('../dns/stub-domain.ts');
      const stubDomains = (raw.stubDomain ?? []).map(parseStubDomain);
      const { createDns } = await import('../dns/dns.ts');
      const { createKubeconfigClient } = await import('../client/kubeconfig.ts');
      const { createNodePlatform } = await import('../platform/node/node-platform.ts');
      const platform = createNodePlatform({ startSpawner: false });
      logContained(platform.log);
      const client = await createKubeconfigClient({ ...platform, userAgent: 'keelson-dns' }, raw.kubeconfig);
      const dns = createDns(
        { client, platform },
        {
          listen: [{ address: raw.listen, port: PORT }],
          domain: raw.domain,
          resolvConfPath: '/etc/resolv.conf',
          stubDomains,
        },
      );
      await dns.start();
      await new Promise<void>((resolve) => {
        process.once('SIGTERM', resolve);
        process.once('SIGINT', resolve);
      });
      await dns.stop();
      platform.close();
    });
}
