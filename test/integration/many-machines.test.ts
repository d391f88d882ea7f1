/** Several machines as one cluster: joining, features across machines, absence of the server, leaving and rejoining. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { images } from './cluster-fixture.ts';
import { createMachines, type Machine, type Machines } from './fixtures/machines.ts';
import { endProcess, keelsonProgram } from './fixtures/programs.ts';
import { until } from './fixtures/until.ts';

describe('a server and two agents, one of them behind a router', () => {
  let machines: Machines;
  let server: Machine;
  let agent: Machine;
  let far: Machine;
  let joinToken: string;
  before(async () => {
    machines = await createMachines([0, 0, 1]);
    [server, agent, far] = machines.list as [Machine, Machine, Machine];
    await server.keelson('server --node-name server --detach');
  });
  after(() => machines?.remove());

  it('refuses an agent without a token, with the authority of another cluster, or with an expired token', async () => {
    const [, pin = ''] =
      /K10([0-9a-f]+)::/.exec(await server.keelson('token create --ttl 1s abcdef.0123456789abcdef')) ?? [];
    const join = (token: string) =>
      agent.run(process.execPath, [
        keelsonProgram,
        ...['agent', '--data-dir', agent.dataDir, '--server', `https://${server.address}:6443`, '--token', token],
      ]);
    assert.match((await join('nonsense')).stderr, /neither of the form K10/);
    assert.match((await join('abcdef.0123456789abcdef')).stderr, /--discovery-token-ca-cert-hash/);
    const foreign = await join(`K10${'0'.repeat(64)}::abcdef.0123456789abcdef`);
    assert.match(foreign.stderr, /authority is not the one the token was made for/);
    // An agent that joins before the expiry succeeds. An expired token may already be missing from the list.
    const [, end] = /^abcdef\.0123456789abcdef +(\S+)/m.exec(await server.keelson('token list')) ?? [];
    await until('the end of its time', async () => end === undefined || Date.parse(end) < Date.now());
    assert.match((await join(`K10${pin}::abcdef.0123456789abcdef`)).stderr, /unknown there or its time is over/);
    await server.keelson('token create --ttl 0 fedcba.0123456789abcdef');
    assert.match(await server.keelson('token list'), /^fedcba\.0123456789abcdef +<forever> /m);
    await server.keelson('token delete fedcba');
    assert.doesNotMatch(await server.keelson('token list'), /fedcba/);
    const deleted = `K10${pin}::fedcba.0123456789abcdef`;
    await until('a refusal', async () => (await join(deleted)).stderr.includes('unknown there or its time is over'));
    await until('the token cleaner', async () => !(await server.keelson('token list')).includes('abcdef.0'));
  });

  it('joins with one command', async () => {
    const command = await server.keelson('token create --print-join-command');
    joinToken = /--token (\S+)/.exec(command)?.[1] ?? '';
    assert.match(command, new RegExp(`--server https://${server.address}:6443 `));
    await agent.keelson(['agent', ...command.trim().split(' ').slice(2), '--node-name', 'agent', '--detach']);
    await until('both nodes', async () => {
      const nodes = await server.kubectl('get nodes -o wide --no-headers');
      assert.match(nodes, /^agent +Ready .* v1\.36\.\S+ +172\.30\.0\.2 /m);
      assert.match(nodes, /^server +Ready /m);
      return true;
    });
    assert.match(await agent.keelson('status'), /agent of +https:/);
  });

  it('runs pods there, with logs and exec through the server', async () => {
    // The first of these addresses never answers.
    const servers = `https://${far.address}:1,https://${server.address}:6443`;
    // Its kubelet is unreachable from outside: requests to it use the tunnel.
    const blocked =
      'table inet blocked { chain in { type filter hook input priority 0; iif != "lo" tcp dport 10250 drop; }; }';
    await far.must('nft', blocked);
    await far.keelson(`agent --server ${servers} --token ${joinToken} --node-name far --tunnel --detach`);
    await Promise.all([server, agent, far].map((machine) => machine.importImages()));
    for (const node of ['server', 'agent', 'far']) {
      const overrides = JSON.stringify({ spec: { nodeName: node, terminationGracePeriodSeconds: 1 } });
      await server.kubectl([
        ...[
          'run',
          `on-${node}`,
          `--image=${images.test}`,
          `--overrides=${overrides}`,
          '--labels=app=web',
          '--port=8080',
        ],
      ]);
    }
    await server.kubectl('wait --for=condition=Ready pod --all --timeout=120s');
    assert.equal((await server.kubectl('exec on-agent -- hostname')).trim(), 'on-agent');
    await until('its log', async () => (await server.kubectl('logs on-far')).includes('serving'));
    assert.equal(await server.kubectl('get --raw /api/v1/nodes/far/proxy/healthz'), 'ok');
    await until('its usage', async () => /^far +\d+m/m.test(await server.kubectl('top nodes').catch(() => '')));
  });

  const fetchFrom = async (pod: string, url: string): Promise<string> =>
    (await server.kubectl(['exec', pod, '--', 'curl', '-s', '-m', '3', url])).trim();
  const podAddress = (pod: string) => server.kubectl(`get pod ${pod} -o jsonpath={.status.podIP}`);

  it('connects pods of all nodes, by link and by tunnel', async () => {
    const names = ['on-server', 'on-agent', 'on-far'];
    const addresses = new Map<string, string>();
    for (const name of names) addresses.set(name, await podAddress(name));
    for (const from of names)
      for (const to of names) {
        const address = addresses.get(to);
        await until(
          `${from} to ${to}`,
          async () => (await fetchFrom(from, `http://${address}:8080/cgi-bin/hostname`)) === to,
        );
        // Packets between pods keep their source address.
        const client = new RegExp(`${addresses.get(from)}\\]?$`);
        await until(`${from} is seen as itself`, async () => {
          assert.match(await fetchFrom(from, `http://${address}:8080/cgi-bin/client`), client);
          return true;
        });
      }
    assert.match(await agent.must('ip', 'route'), /via 172\.30\.0\.1 dev eth0 proto 199/);
    assert.match(await far.must('ip', 'route'), new RegExp(`dev kv${far.hash} proto 199 onlink`));
  });

  it('carries packets as large as the path allows', async () => {
    const address = await podAddress('on-far');
    await server.kubectl(['exec', 'on-far', '--', 'sh', '-c', 'head -c 2000000 /dev/zero > /tmp/www/big']);
    const args = ['-s', '-m', '60', '-o', '/dev/null', '-w', '%{size_download}', `http://${address}:8080/big`];
    assert.equal(await server.kubectl(['exec', 'on-agent', '--', 'curl', ...args]), '2000000');
  });

  it('limits pods to the bandwidth of their annotations', async () => {
    const limits = { 'kubernetes.io/ingress-bandwidth': '8M', 'kubernetes.io/egress-bandwidth': '8M' };
    const overrides = JSON.stringify({ metadata: { annotations: limits }, spec: { nodeName: 'agent' } });
    await server.kubectl(['run', 'slow', `--image=${images.test}`, `--overrides=${overrides}`]);
    await server.kubectl('wait --for=condition=Ready pod slow --timeout=120s');
    await until('its rule', async () => (await agent.must('nft', 'list ruleset')).includes('limit rate over'));
    const seconds = async (from: string, to: string): Promise<number> => {
      await server.kubectl(['exec', to, '--', 'sh', '-c', 'head -c 4000000 /dev/zero > /tmp/www/big']);
      const url = `http://${await podAddress(to)}:8080/big`;
      return Number(
        await server.kubectl(['exec', from, '--', 'curl', '-s', '-o', '/dev/null', '-w', '%{time_total}', url]),
      );
    };
    // Four megabytes at eight megabits: four seconds, less the burst that passes at once (a second's worth with policing).
    assert.ok((await seconds('slow', 'on-agent')) > 1.8, 'what it receives');
    assert.ok((await seconds('on-agent', 'slow')) > 1.8, 'what it sends');
    await server.kubectl('delete pod slow --now');
    await until('no rule', async () => !(await agent.must('nft', 'list ruleset')).includes('limit rate over'));
  });

  it('serves services everywhere: by address, by name, by node port of any node', async () => {
    await server.kubectl('create service nodeport web --tcp=80:8080 --node-port=30080');
    const address = await server.kubectl('get service web -o jsonpath={.spec.clusterIP}');
    for (const from of ['on-server', 'on-agent', 'on-far']) {
      const seen = new Set<string>();
      await until(`all three from ${from}`, async () => {
        seen.add(await fetchFrom(from, `http://${address}/cgi-bin/hostname`));
        seen.add(await fetchFrom(from, 'http://web.default.svc.cluster.local/cgi-bin/hostname'));
        return seen.size === 3;
      });
    }
    for (const machine of [server, agent, far])
      for (const target of [server, agent, far]) {
        const url = `http://${target.address}:30080/cgi-bin/hostname`;
        await until(`node port of ${target.name} from ${machine.name}`, async () =>
          (await machine.fetch(url)).startsWith('on-'),
        );
      }
  });

  it('works while the server is down, and reconnects to it', async () => {
    const url = `http://${await server.kubectl('get service web -o jsonpath={.spec.clusterIP}')}/cgi-bin/hostname`;
    const log = (): string => readFileSync(`${agent.dataDir}/logs/keelson.log`, 'utf8');
    const known = log().length;
    await endProcess(await server.pid());
    await until('the agent to miss it', async () => log().slice(known).includes('failed to list or watch'));
    for (let i = 0; i < 10; i++) assert.match(await agent.fetch(url, 30), /^on-/);
    const resolve = `const r = new (require('dns').promises.Resolver)(); r.setServers(['10.43.0.10']);
      r.resolve4('web.default.svc.cluster.local').then((a) => console.log(a.join()))`;
    assert.match(await agent.must(process.execPath, ['-e', resolve]), /^10\.43\./);
    await server.keelson('server --node-name server --detach');
    await server.kubectl('create configmap marker --from-literal=a=b');
    await until('the agents', async () => {
      const nodes = await server.kubectl('get nodes --no-headers');
      return (nodes.match(/ Ready /g) ?? []).length === 3;
    });
    await server.kubectl(['run', 'later', `--image=${images.test}`, '--overrides={"spec":{"nodeName":"agent"}}']);
    await server.kubectl('wait --for=condition=Ready pod later --timeout=120s');
    await server.kubectl('delete pod later --now');
  });

  it('keeps its credentials: the agent starts again without a token', async () => {
    assert.notEqual(joinToken, '');
    const pid = await agent.pid();
    await endProcess(pid);
    await agent.keelson('agent --node-name agent --detach');
    assert.equal((await server.kubectl('exec on-agent -- hostname')).trim(), 'on-agent');
  });

  it('a killed agent is restarted by its supervisor; its pods are not affected', async () => {
    await endProcess(await agent.pid(), 'SIGTERM');
    await agent.keelson('agent --node-name agent --detach --restart always');
    const pid = await agent.pid();
    await endProcess(pid);
    await until('another agent', async () => (await agent.pid().catch(() => pid)) !== pid);
    await until('its status', async () => /^restarts +1, .* after signal SIGKILL/m.test(await agent.keelson('status')));
    const isBack = async (): Promise<boolean> =>
      (await server.kubectl('exec on-agent -- hostname').catch(() => '')).trim() === 'on-agent';
    await until('its kubelet', isBack);
    const counts = '-o jsonpath={.status.containerStatuses[*].restartCount}';
    assert.equal(await server.kubectl(`get pod on-agent ${counts}`), '0');
    await server.kubectl('wait --for=condition=Ready node/agent --timeout=60s');
  });

  it('leaves and joins again', async () => {
    // Ended before its Node is deleted: a running kubelet would create the Node again.
    await endProcess(await far.pid(), 'SIGTERM');
    assert.doesNotMatch(readFileSync(`${far.dataDir}/logs/keelson.log`, 'utf8'), /keelson is stopping/);
    await server.kubectl('delete node far');
    await until(
      'its route to go',
      async () =>
        !(await agent.must('ip', 'route')).includes('172.30.1.3') &&
        !(await agent.must('ip', 'route')).includes('dev kv'),
    );
    await far.keelson('agent --node-name far --tunnel --detach');
    await until('the node', async () => / Ready /.test(await server.kubectl('get node far --no-headers')));
    const overrides = '{"spec":{"nodeName":"far"}}';
    await server.kubectl(['run', 'again', `--image=${images.test}`, `--overrides=${overrides}`, '--labels=app=web']);
    await server.kubectl('wait --for=condition=Ready pod again --timeout=120s');
    const address = await podAddress('again');
    await until(
      'an answer',
      async () => (await fetchFrom('on-server', `http://${address}:8080/cgi-bin/hostname`)) === 'again',
    );
  });
});
