/** The proxy's modes on a real node, one after the other on the same cluster: the same services must answer the same. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { images } from './cluster-fixture.ts';
import { keelsonProgram } from './fixtures/programs.ts';
import { createMachines, type Machine, type Machines } from './fixtures/machines.ts';
import { until } from './fixtures/until.ts';

describe('proxy modes', () => {
  let machines: Machines;
  let node: Machine;
  let outside: Machine;
  let address: string;
  let stickyAddress: string;
  before(async () => {
    machines = await createMachines([0, 0]);
    [node, outside] = machines.list as [Machine, Machine];
    await node.keelson('server --node-name node --proxy-mode iptables --detach');
    await node.importImages();
    await node.kubectl(`create deployment web --image=${images.test} --replicas=2 --port=8080`);
    await node.kubectl('create service nodeport web --tcp=80:8080 --node-port=30080');
    await node.kubectl('create service clusterip empty --tcp=80:8080');
    const sticky = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'sticky' },
      spec: { sessionAffinity: 'ClientIP', selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
    };
    await node.kubectl('apply -f -', { input: JSON.stringify(sticky) });
    await node.kubectl('rollout status deployment/web --timeout=120s');
    [address, stickyAddress] = (await Promise.all(
      ['web', 'sticky'].map((name) => node.kubectl(`get service ${name} -o jsonpath={.spec.clusterIP}`)),
    )) as [string, string];
  });
  after(() => machines?.remove());

  const inPod = async (url: string): Promise<string> =>
    (await node.kubectl(['exec', 'deploy/web', '--', 'curl', '-s', '-m', '3', url])).trim();

  for (const mode of ['iptables', 'userspace', 'nftables', 'iptables'])
    it(mode, async () => {
      const status = await node.run(process.execPath, [keelsonProgram, 'status', '--data-dir', node.dataDir]);
      if (status.code === 0) {
        process.kill(await node.pid(), 'SIGTERM');
        await until(
          'its end',
          async () =>
            (await node.run(process.execPath, [keelsonProgram, 'status', '--data-dir', node.dataDir])).code !== 0,
        );
      }
      await node.keelson(`server --node-name node --proxy-mode ${mode} --detach`);
      const url = `http://${address}/cgi-bin/hostname`;
      for (const [from, ask] of [
        ['the node', () => node.fetch(url)],
        ['a pod', () => inPod(url)],
        ['a pod, by name', () => inPod('http://web/cgi-bin/hostname')],
        ['outside, by node port', () => outside.fetch(`http://${node.address}:30080/cgi-bin/hostname`)],
        ['the node, by node port', () => node.fetch(`http://${node.address}:30080/cgi-bin/hostname`)],
      ] as const) {
        const seen = new Set<string>();
        await until(`both endpoints from ${from}`, async () => {
          const answer = await ask();
          if (answer !== '') seen.add(answer);
          return seen.size === 2;
        });
      }
      const stuck = new Set<string>();
      for (let i = 0; i < 6; i++)
        stuck.add(await until('an answer', () => node.fetch(`http://${stickyAddress}/cgi-bin/hostname`)));
      assert.equal(stuck.size, 1, [...stuck].join());
      const empty = await node.kubectl('get service empty -o jsonpath={.spec.clusterIP}');
      await until(
        'refused, not silent',
        async () => (await node.run('curl', ['-s', '-m', '2', `http://${empty}/`])).code === 7,
      );
      await node.kubectl('scale deployment web --replicas=1');
      await until(
        'one endpoint',
        async () =>
          (await node.kubectl('get endpoints web -o jsonpath={.subsets[*].addresses[*].ip}')).split(' ').length === 1,
      );
      await until('its answers alone', async () => {
        const answers = new Set(await Promise.all(Array.from({ length: 6 }, () => node.fetch(url))));
        return answers.size === 1 && !answers.has('');
      });
      await node.kubectl('scale deployment web --replicas=2');
      await node.kubectl('rollout status deployment/web --timeout=120s');
      await until('the rules of this mode alone', async () => {
        const rules = await node.must('iptables-save', '-t nat');
        return rules.includes('KUBE-SERVICES') === (mode === 'iptables');
      });
      if (mode === 'iptables') {
        await node.must('iptables', '-t nat -F KUBE-SERVICES');
        await node.kubectl('annotate service web healed=yes --overwrite');
        await node.kubectl('label service web healed=yes --overwrite');
        await until('the rules to come back', async () => (await node.fetch(url)) !== '');
      }
    });

  it('keelson proxy alone serves the cluster on another machine', async (context) => {
    const directory = mkdtempSync(join(tmpdir(), 'keelson-proxy-'));
    context.after(() => rmSync(directory, { recursive: true }));
    const kubeconfig = `${directory}/kubeconfig`;
    const text = readFileSync(`${node.dataDir}/admin.kubeconfig`, 'utf8');
    writeFileSync(kubeconfig, text.replace('127.0.0.1', node.address));
    const config = `${directory}/proxy.yaml`;
    const head = 'apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n';
    writeFileSync(config, `${head}mode: nftables\nclusterCIDR: 10.42.0.0/16\nhostnameOverride: outside\n`);
    await outside.must('ip', `route add 10.42.0.0/16 via ${node.address}`);
    // Started as kubeadm does: the service range comes from the cluster.
    const args = ['proxy', `--config=${config}`, `--kubeconfig=${kubeconfig}`];
    const proxy = outside.start(process.execPath, [keelsonProgram, ...args]);
    const url = `http://${address}/cgi-bin/hostname`;
    await until('an answer', async () => (await outside.fetch(url)) !== '');
    assert.match(await outside.fetch('http://127.0.0.1:10256/healthz'), /"nodeEligible":true/);
    assert.equal(await outside.fetch('http://127.0.0.1:10249/proxyMode'), 'nftables');
    proxy.kill('SIGTERM');
    assert.equal((await proxy.ended()).code, 0);
    await until('an answer by the rules that stay', () => outside.fetch(url));
    await outside.must(process.execPath, [keelsonProgram, ...args, '--cleanup']);
    assert.equal((await outside.must('nft', 'list tables')).includes('kube-proxy'), false);
  });
});
