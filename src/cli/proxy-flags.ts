/** Flags of `keelson proxy`: upstream's, and which of them change nothing here. */
import { anyValue, anyValues, componentFlags, onlyDefault } from '../component-helpers/command-line/component-flags.ts';
import { type FixedFlags, fixedOptions } from '../component-helpers/command-line/fixed-flags.ts';
import { type Flag, named } from '../component-helpers/command-line/flags.ts';
import { logOptions } from '../component-helpers/command-line/log-options.ts';

const LIMITS = 'limits of connection tracking are the machine’s';
const NO_IPVS = 'there is no IPVS mode';
const WHOLE = 'all rules are brought in line when something changes';
const FEWER = 'node ports of loopback are served in no mode';

/** Flags without effect, and flags of which only the default value is supported. */
export const proxyFixedFlags: FixedFlags = {
  ...componentFlags,
  'bind-address': {
    type: 'string',
    is: ['0.0.0.0', '::'],
    otherwise: 'services answer on all addresses',
    description: 'all',
  },
  'config-sync-period': anyValue('15m0s', WHOLE),
  ...anyValues(LIMITS, {
    'conntrack-max-per-core': '32768',
    'conntrack-min': '131072',
    'conntrack-tcp-timeout-close-wait': '1h0m0s',
    'conntrack-tcp-timeout-established': '24h0m0s',
    'conntrack-udp-timeout': '0s',
    'conntrack-udp-timeout-stream': '0s',
  }),
  'conntrack-tcp-be-liberal': onlyDefault('false', LIMITS, 'always false here'),
  'detect-local-mode': {
    type: 'string',
    is: ['', 'ClusterCIDR'],
    otherwise: 'pods of this machine are known by --cluster-cidr',
    description: 'always ClusterCIDR here',
  },
  'feature-gates': anyValue('', 'features are as they are by default', 'list'),
  'init-only': onlyDefault('false', 'nothing is to be prepared', 'always false here'),
  'iptables-localhost-nodeports': { type: 'bool', is: ['false'], noted: { true: FEWER }, description: FEWER },
  'iptables-masquerade-bit': onlyDefault('14', 'marks are chosen here', 'always 14 here'),
  ...anyValues(WHOLE, {
    'iptables-min-sync-period': '1s',
    'iptables-sync-period': '30s',
    'nftables-min-sync-period': '1s',
    'nftables-sync-period': '30s',
  }),
  ...anyValues(NO_IPVS, {
    'ipvs-exclude-cidrs': '',
    'ipvs-min-sync-period': '0s',
    'ipvs-scheduler': '',
    'ipvs-strict-arp': 'false',
    'ipvs-sync-period': '30s',
    'ipvs-tcp-timeout': '0s',
    'ipvs-tcpfin-timeout': '0s',
    'ipvs-udp-timeout': '0s',
  }),
  'kube-api-burst': anyValue('10', 'clients have no limit of their own'),
  'kube-api-qps': anyValue('5', 'clients have no limit of their own'),
  'kube-api-content-type': anyValue('application/vnd.kubernetes.protobuf', 'clients speak JSON'),
  'masquerade-all': onlyDefault('false', 'only what must be is masqueraded', 'always false here'),
  'oom-score-adj': anyValue('-999', 'it stays as whoever starts the process sets it'),
  'pod-bridge-interface': onlyDefault('', 'pods of this machine are known by --cluster-cidr', 'not offered'),
  'pod-interface-name-prefix': onlyDefault('', 'pods of this machine are known by --cluster-cidr', 'not offered'),
  'proxy-port-range': anyValue('', 'ports of the userspace mode are chosen by the kernel'),
  'write-config-to': onlyDefault('', 'the configuration is not written anywhere', 'not offered'),
};

/** Flags that configure the proxy. */
export const proxySettings: readonly Flag[] = [
  named('kubeconfig', 'how to reach the cluster'),
  named('master', 'address of the API server (overrides the kubeconfig)'),
  named('config', 'a KubeProxyConfiguration; what it says wins over flags'),
  named('proxy-mode', 'how services are served: nftables (default), iptables or userspace'),
  named('cluster-cidr', 'addresses of pods; of several families separated by a comma'),
  named('service-cidr', 'addresses of services (default: the ServiceCIDRs of the cluster)'),
  named('hostname-override', 'name of this node (default: the host name)'),
  named(
    'nodeport-addresses',
    'addresses of this machine that serve node ports: ranges, or primary (default: all)',
    'list',
  ),
  named('healthz-bind-address', 'where /healthz is served (default 0.0.0.0:10256)'),
  named('metrics-bind-address', 'where /metrics and /proxyMode are served (default 127.0.0.1:10249)'),
  named('bind-address-hard-fail', 'ports of these that are taken are fatal (default false)', 'bool'),
  named('cleanup', 'remove the rules of this mode and exit', 'bool'),
  named('log-level', 'debug, info, warn or error (default info)'),
];

/** Every flag. */
export const proxyFlags: readonly Flag[] = [
  ...proxySettings,
  ...logOptions.flags,
  ...fixedOptions(proxyFixedFlags).flags,
];
