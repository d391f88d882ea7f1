import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../api/gen/core-v1.ts';
import { podOf } from '../runtime/runtime-fixture.ts';
import { applyLimits, createDnsConfigurer, formatResolvConf, parseResolvConf } from './dns.ts';
import { hostNetworkHostsFile, managedHostsFile, podHostName, sandboxHostName } from './hosts-file.ts';

const containers = [{ name: 'main' }];
const HOST_FILE = 'nameserver 192.0.2.1\nsearch corp.example. lan\noptions timeout:1 # slow\n';
const clusterSearches = ['default.svc.cluster.local', 'svc.cluster.local', 'cluster.local'];

describe('resolver configuration', () => {
  const cases: {
    about: string;
    spec: Partial<NonNullable<Pod['spec']>>;
    clusterDns?: string[];
    host?: string;
    expected: object;
    event?: string;
  }[] = [
    {
      about: 'ClusterFirst',
      spec: {},
      expected: {
        servers: ['10.96.0.10'],
        searches: [...clusterSearches, 'corp.example', 'lan'],
        options: ['ndots:5'],
      },
    },
    {
      about: 'ClusterFirst in the host network is Default',
      spec: { hostNetwork: true },
      expected: { servers: ['192.0.2.1'], searches: ['corp.example', 'lan'], options: ['timeout:1'] },
    },
    {
      about: 'ClusterFirstWithHostNet',
      spec: { hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet' },
      expected: {
        servers: ['10.96.0.10'],
        searches: [...clusterSearches, 'corp.example', 'lan'],
        options: ['ndots:5'],
      },
    },
    {
      about: 'Default',
      spec: { dnsPolicy: 'Default' },
      expected: { servers: ['192.0.2.1'], searches: ['corp.example', 'lan'], options: ['timeout:1'] },
    },
    {
      about: 'Default without servers',
      spec: { dnsPolicy: 'Default' },
      host: '',
      expected: { servers: ['127.0.0.1'], searches: [], options: [] },
    },
    {
      about: 'None',
      spec: {
        dnsPolicy: 'None',
        dnsConfig: { nameservers: ['1.1.1.1'], searches: ['a'], options: [{ name: 'x', value: '2' }] },
      },
      expected: { servers: ['1.1.1.1'], searches: ['a'], options: ['x:2'] },
    },
    {
      about: 'merged',
      spec: {
        dnsConfig: {
          nameservers: ['1.1.1.1'],
          searches: ['lan', 'b'],
          options: [{ name: 'ndots', value: '2' }, { name: 'edns0' }],
        },
      },
      expected: {
        servers: ['10.96.0.10', '1.1.1.1'],
        searches: [...clusterSearches, 'corp.example', 'lan', 'b'],
        options: ['ndots:2', 'edns0'],
      },
    },
    {
      about: 'no cluster DNS',
      spec: {},
      clusterDns: [],
      expected: { servers: ['192.0.2.1'], searches: ['corp.example', 'lan'], options: ['timeout:1'] },
      event: 'MissingClusterDNS',
    },
  ];
  for (const { about, spec, clusterDns = ['10.96.0.10'], host = HOST_FILE, expected, event } of cases) {
    it(about, async () => {
      const events: string[] = [];
      const dns = createDnsConfigurer({
        clusterDns,
        clusterDomain: 'cluster.local',
        readHostResolvConf: async () => host,
        recorder: { event: (_target, _type, reason) => void events.push(reason) },
      });
      assert.deepEqual(await dns.podDns(podOf({ containers, ...spec })), expected);
      assert.deepEqual(events, event === undefined ? [] : [event]);
    });
  }

  it('applies the limits of resolvers and reports the omitted entries', () => {
    const searches = Array.from({ length: 40 }, (_, index) => `s${index}`);
    const { config, warnings } = applyLimits({ servers: ['1', '2', '3', '4'], searches, options: [] });
    assert.deepEqual([config.servers.length, config.searches.length, warnings.length], [3, 32, 2]);
    assert.equal(
      applyLimits({ servers: [], searches: Array.from({ length: 20 }, () => 'x'.repeat(200)), options: [] }).config
        .searches.length,
      10,
    );
  });

  it('parses its own output', () => {
    const config = { servers: ['10.0.0.1'], searches: ['a', 'b'], options: ['ndots:5'] };
    assert.deepEqual(parseResolvConf(formatResolvConf(config)), config);
  });
});

describe('names', () => {
  const cases: { about: string; spec: Partial<NonNullable<Pod['spec']>>; name?: string; expected: object }[] = [
    { about: "the pod's name", spec: {}, expected: { hostname: 'web', domain: '' } },
    {
      about: 'hostname and subdomain',
      spec: { hostname: 'h', subdomain: 's' },
      expected: { hostname: 'h', domain: 's.default.svc.cluster.local' },
    },
    {
      about: 'an override',
      spec: { hostname: 'h', subdomain: 's', hostnameOverride: 'other.example' },
      expected: { hostname: 'other.example', domain: '' },
    },
    {
      about: 'a long name, cut without a dash at its end',
      spec: {},
      name: `${'a'.repeat(62)}-b`,
      expected: { hostname: 'a'.repeat(62), domain: '' },
    },
  ];
  for (const { about, spec, name = 'web', expected } of cases) {
    it(about, () => assert.deepEqual(podHostName(podOf({ containers, ...spec }, { name }), 'cluster.local'), expected));
  }

  it('refuses a full name the kernel cannot take', () => {
    const pod = podOf({ containers, hostname: 'h'.repeat(40), subdomain: 's', setHostnameAsFQDN: true });
    assert.throws(() => sandboxHostName(pod, 'cluster.local'), /longer than 64 characters/);
    assert.equal(
      sandboxHostName(podOf({ containers, hostname: 'h', subdomain: 's', setHostnameAsFQDN: true }), 'c.l'),
      'h.s.default.svc.c.l',
    );
  });
});

describe('hosts files', () => {
  const hostAliases = [{ ip: '1.2.3.4', hostnames: ['foo', 'bar'] }];

  it('name the pod by all its addresses, and its aliases', () => {
    const text = managedHostsFile({
      pod: podOf({ containers, subdomain: 's', hostAliases }),
      podIps: ['10.0.0.5', 'fd00::5'],
      clusterDomain: 'cluster.local',
    });
    const lines = text.split('\n');
    assert.equal(lines[0], '# Kubernetes-managed hosts file.');
    assert.deepEqual(lines.slice(7), [
      '10.0.0.5\tweb.s.default.svc.cluster.local\tweb',
      'fd00::5\tweb.s.default.svc.cluster.local\tweb',
      '',
      '# Entries added by HostAliases.',
      '1.2.3.4\tfoo\tbar',
      '',
    ]);
  });

  it('read the aliases once for all containers', () => {
    let reads = 0;
    const alias = {
      get ip() {
        reads++;
        return '1.2.3.4';
      },
    };
    const pod = podOf({ containers, hostAliases: [alias] });
    for (let container = 0; container < 3; container++) hostNetworkHostsFile('', pod);
    assert.equal(reads, 1);
  });

  it("keep the host's own in the host's network", () => {
    assert.equal(
      hostNetworkHostsFile('127.0.0.1 box\n', podOf({ containers, hostAliases })),
      '# Kubernetes-managed hosts file (host network).\n127.0.0.1 box\n\n# Entries added by HostAliases.\n1.2.3.4\tfoo\tbar\n',
    );
  });
});
