import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { deriveInstance } from '../instance/instance.ts';
import { createPodNetwork } from './pod-network.ts';

const instance = deriveInstance(
  {
    dataDir: '/data',
    nodeName: 'n',
    clusterCidr: '10.42.0.0/16',
    serviceCidr: '10.43.0.0/16',
    clusterDomain: 'cluster.local',
    httpsPort: 6443,
  },
  (text) => createHash('sha256').update(text).digest('hex'),
);

interface Host {
  /** The output of `iptables -S FORWARD`. */
  readonly forward: string;
  /** Base chains in the format of `nft -j list chains`. */
  readonly chains?: readonly object[];
}

function setUp({ forward, chains = [] }: Host) {
  const platform = createSimPlatform();
  const ran: string[] = [];
  const scripts: string[] = [];
  const present = new Set<string>();
  platform.exec.program('nft', ({ args, options }) => {
    if (args.includes('-j')) return { stdout: JSON.stringify({ nftables: chains.map((chain) => ({ chain })) }) };
    scripts.push(String(options.input));
    ran.push(`nft ${String(options.input).split('\n')[0]}`);
    return {};
  });
  platform.exec.program('ip', ({ args }) => {
    if (args.includes('del')) ran.push(`ip ${args.join(' ')}`);
    return {};
  });
  platform.exec.program('iptables', ({ args }) => {
    const [, verb = '', , ...rule] = args;
    if (verb === '-S') return { stdout: forward };
    const text = rule.join(' ');
    if (verb === '-C') return { exitCode: present.has(text) ? 0 : 1 };
    if (verb === '-I') present.add(text);
    else present.delete(text);
    return {};
  });
  return { platform, ran, scripts, present, network: createPodNetwork(platform, instance) };
}

describe('the pod network', () => {
  it('attaches pods to a bridge, or by links of their own where bridges pass netfilter by', async () => {
    for (const [kernel, type] of [
      ['with br_netfilter', 'bridge'],
      ['without', 'ptp'],
    ]) {
      const { platform, network } = setUp({ forward: '-P FORWARD ACCEPT' });
      if (type === 'bridge') {
        await platform.files.makeDir('/proc/sys/net/bridge');
        await platform.files.writeFile('/proc/sys/net/bridge/bridge-nf-call-iptables', '1');
      }
      await network.setPodCidr('10.42.1.0/24');
      const text = await platform.files.readText(`${instance.cniConfig.confDir}/10-keelson.conflist`);
      const config = JSON.parse(text) as { plugins: { type: string }[] };
      assert.equal(config.plugins[0]?.type, type, kernel);
    }
  });

  it('accepts pods and marked packets where FORWARD drops, once; and removes the rules', async () => {
    const { network, present } = setUp({ forward: '-P FORWARD DROP' });
    await network.start();
    await network.start();
    const tagged = `-m comment --comment keelson-${instance.hash} -j ACCEPT`;
    assert.deepEqual(
      [...present],
      [
        `-i ${instance.bridge} ${tagged}`,
        `-o ${instance.bridge} ${tagged}`,
        `-s 10.42.0.0/16 ${tagged}`,
        `-d 10.42.0.0/16 ${tagged}`,
        `-m mark --mark 0x${instance.masqueradeMark.toString(16)}/0xffff0000 ${tagged}`,
        `-m conntrack --ctstate RELATED,ESTABLISHED ${tagged}`,
      ],
    );
    assert.deepEqual(await network.remove(), []);
    assert.deepEqual([...present], []);
  });

  it('isolates pods by link-local addresses where the kernel has IPv6, and removes the rules', async () => {
    const { network, platform, scripts } = setUp({ forward: '-P FORWARD ACCEPT' });
    for (const [path, value] of [
      ['/proc/sys/net/bridge/bridge-nf-call-ip6tables', '0'],
      ['/proc/sys/net/ipv6/conf/all/forwarding', '0'],
    ] as const) {
      await platform.files.makeDir(path.slice(0, path.lastIndexOf('/')));
      await platform.files.writeFile(path, value);
    }
    await network.start();
    assert.equal(await platform.files.readText('/proc/sys/net/bridge/bridge-nf-call-ip6tables'), '1');
    const table = `ip6 ${instance.nftTable}-neighbours`;
    const between = `iifname "${instance.bridge}" oifname "${instance.bridge}" drop`;
    assert.ok(scripts.some((script) => script.includes(`\ntable ${table} {`) && script.includes(between)));
    assert.deepEqual(await network.remove(), []);
    assert.ok(scripts.includes(`table ${table}\ndelete table ${table}\n`));
  });

  it('leaves a FORWARD that accepts alone', async () => {
    const { network, present } = setUp({ forward: '-P FORWARD ACCEPT' });
    await network.start();
    assert.deepEqual([...present], []);
  });

  it('routes loopback addresses over the bridge only, and only after the guard; the guard is removed last', async () => {
    const { network, platform, ran, scripts } = setUp({ forward: '-P FORWARD ACCEPT' });
    const { files } = platform;
    await assert.rejects(network.routeLoopback(), { code: 'ENOENT' });
    const sysctl = `/proc/sys/net/ipv4/conf/${instance.bridge}/route_localnet`;
    await files.makeDir(sysctl.slice(0, sysctl.lastIndexOf('/')));
    await files.writeFile(sysctl, '0\n');
    platform.exec.program('nft', () => ({ exitCode: 1, stderr: 'no' }));
    await assert.rejects(network.routeLoopback(), /nft: no/);
    assert.equal(await files.readText(sysctl), '0\n');
    platform.exec.program('nft', ({ options }) => {
      scripts.push(String(options.input));
      ran.push('nft');
      return {};
    });
    await network.routeLoopback();
    assert.equal(await files.readText(sysctl), '1');
    assert.match(
      scripts[0] ?? '',
      /hook prerouting priority -300;.*\n *iifname != "lo" ip daddr 127\.0\.0\.0\/8 drop\n *iifname != "lo" ip saddr 127\.0\.0\.0\/8 drop/,
    );
    await network.routeLoopback();
    assert.equal(scripts.length, 1);
    ran.length = 0;
    await files.makeDir(`/sys/class/net/${instance.bridge}`);
    await network.remove();
    assert.deepEqual(ran.slice(0, 2), [`ip link del ${instance.bridge}`, 'nft']);
  });

  it('is checked every minute until the end; a foreign chain that drops is logged once', async () => {
    const chains = [{ family: 'inet', table: 'firewalld', name: 'filter_FORWARD', hook: 'forward', policy: 'drop' }];
    const { network, ran, platform } = setUp({ forward: '-P FORWARD ACCEPT', chains });
    await network.start();
    const ended = new AbortController();
    const keeping = network.keep(ended.signal);
    assert.equal(ran.length, 1);
    await platform.clock.advance(61_000);
    assert.equal(ran.length, 2);
    await platform.clock.advance(60_000);
    assert.equal(ran.length, 3);
    ended.abort();
    await platform.clock.drive(keeping);
    await platform.clock.advance(200_000);
    assert.equal(ran.length, 3);
    const told = platform.log.entries.filter(({ message }) => /firewall chain of this machine drops/.test(message));
    assert.deepEqual(
      told.map(({ fields }) => fields?.['chain']),
      ['inet firewalld filter_FORWARD'],
    );
  });
});
