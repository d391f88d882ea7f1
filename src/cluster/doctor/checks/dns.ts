/** The machine's resolv.conf: cluster DNS forwards to its servers, and pods with policy Default use it. */
import { parseResolvConf } from '../../../kubelet/network/dns.ts';
import { failure, warning, worstOf, type Check, type Finding } from '../finding.ts';

/** Limits of the C library, which upstream's kubelet applies. */
const [MAX_SERVERS, MAX_DOMAINS] = [3, 32];
/** The upstream servers of systemd-resolved. */
export const SYSTEMD_RESOLV_CONF = '/run/systemd/resolve/resolv.conf';

export const dns: Check = {
  name: 'dns',
  check({ resolvConf, settled, hasSystemdResolvConf }) {
    const edit = 'nameserver lines in /etc/resolv.conf';
    if (resolvConf === undefined)
      return failure('there is no /etc/resolv.conf: names outside the cluster do not resolve', edit);
    const { servers, searches } = parseResolvConf(resolvConf);
    const problems: Finding[] = [];
    if (servers.length === 0)
      problems.push(failure('/etc/resolv.conf names no server: names outside the cluster do not resolve', edit));
    if (settled !== undefined && servers.includes(settled.dnsAddress))
      problems.push(failure(`/etc/resolv.conf leads to cluster DNS (${settled.dnsAddress}), which asks itself`, edit));
    if (servers.some((address) => address.startsWith('127.') || address === '::1'))
      problems.push(
        warning(
          'the name server listens on loopback: pods of dnsPolicy Default cannot reach it',
          hasSystemdResolvConf
            ? `--kubelet-arg resolv-conf=${SYSTEMD_RESOLV_CONF}`
            : '--kubelet-arg resolv-conf=FILE, a file with the servers that it asks',
        ),
      );
    if (servers.length > MAX_SERVERS)
      problems.push(warning(`${servers.length} name servers: pods get the first ${MAX_SERVERS}`, edit));
    if (searches.length > MAX_DOMAINS)
      problems.push(warning(`${searches.length} search domains: pods get ${MAX_DOMAINS}`, 'fewer search domains'));
    return worstOf(problems, servers.join(', '));
  },
};
