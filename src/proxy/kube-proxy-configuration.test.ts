import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readKubeProxyConfiguration } from './kube-proxy-configuration.ts';

const HEAD = 'apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n';

test('the configuration of kubeadm is accepted, without unsupported settings', () => {
  const text = `${HEAD}bindAddress: 0.0.0.0
clientConnection: {acceptContentTypes: "", burst: 0, contentType: "", kubeconfig: /var/lib/kube-proxy/kubeconfig.conf, qps: 0}
clusterCIDR: 10.244.0.0/16
configSyncPeriod: 0s
detectLocal: {}
hostnameOverride: node-1
iptables: {localhostNodePorts: null, masqueradeAll: false, masqueradeBit: null, minSyncPeriod: 0s, syncPeriod: 0s}
mode: iptables
nodePortAddresses: null
`;
  assert.deepEqual(readKubeProxyConfiguration(text), {
    mode: 'iptables',
    clusterCidr: '10.244.0.0/16',
    nodeName: 'node-1',
    kubeconfig: '/var/lib/kube-proxy/kubeconfig.conf',
  });
});

test("upstream's defaults, written out", () => {
  const text = `${HEAD}bindAddressHardFail: false
conntrack: {maxPerCore: null, min: null, tcpBeLiberal: false, tcpCloseWaitTimeout: null, tcpEstablishedTimeout: null, udpStreamTimeout: 0s, udpTimeout: 0s}
detectLocal: {bridgeInterface: "", interfaceNamePrefix: ""}
detectLocalMode: ""
enableProfiling: false
healthzBindAddress: "0.0.0.0:10256"
ipvs: {excludeCIDRs: null, minSyncPeriod: 0s, scheduler: "", strictARP: false, syncPeriod: 0s, tcpFinTimeout: 0s, tcpTimeout: 0s, udpTimeout: 0s}
logging: {flushFrequency: 0, options: {json: {infoBufferSize: "0"}, text: {infoBufferSize: "0"}}, verbosity: 0}
metricsBindAddress: ""
mode: ""
nftables: {masqueradeAll: false, masqueradeBit: null, minSyncPeriod: 0s, syncPeriod: 0s}
oomScoreAdj: null
portRange: ""
showHiddenMetricsForVersion: ""
winkernel: {enableDSR: false, forwardHealthCheckVIP: false, networkName: "", rootHnsEndpointName: "", sourceVip: ""}
`;
  assert.deepEqual(readKubeProxyConfiguration(text), {
    healthzBindAddress: '0.0.0.0:10256',
    bindAddressHardFail: false,
  });
});

test('node port addresses', () => {
  const read = (list: string) => readKubeProxyConfiguration(`${HEAD}nodePortAddresses: ${list}\n`).nodePortAddresses;
  assert.deepEqual(read('[10.0.0.0/8, "fd00::/8"]'), ['10.0.0.0/8', 'fd00::/8']);
  assert.deepEqual(read('[primary]'), ['primary']);
  assert.equal(read('[]'), undefined);
});

for (const [field, expected] of [
  ['mode: ipvs', /mode: ipvs is not one of/],
  ['nodePortAddresses: 10.0.0.0/8', /nodePortAddresses: it is no list/],
  [
    'nodePortAddresses: [10.0.0.0/8, 10.20.30.40]',
    /^Error: KubeProxyConfiguration\.NodePortAddresses\[1\]: Invalid value: "10\.20\.30\.40": must be a valid CIDR$/,
  ],
  ['iptables: {masqueradeAll: true}', /iptables\.masqueradeAll: true/],
  ['conntrack: {maxPerCore: 5}', /conntrack\.maxPerCore: 5 is not supported/],
  ['clusterCIDR: 10.0.0.0', /clusterCIDR: 10\.0\.0\.0 is no range/],
  ['modes: iptables', /modes is not supported/],
] as const)
  test(`refuses ${field}`, () => assert.throws(() => readKubeProxyConfiguration(`${HEAD}${field}\n`), expected));

test('refuses another kind', () => {
  assert.throws(() => readKubeProxyConfiguration('kind: KubeletConfiguration\n'), /no KubeProxyConfiguration/);
});
