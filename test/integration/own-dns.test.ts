/** A user's own cluster DNS at the usual address; then Keelson's again, with a domain that has its own name servers. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { images } from './cluster-fixture.ts';
import { keelsonProgram } from './fixtures/programs.ts';
import { createMachines, type Machine, type Machines } from './fixtures/machines.ts';
import { until } from './fixtures/until.ts';

const DNS_ADDRESS = '10.43.0.10';

/** Answers every A query with 192.0.2.77. */
const NAME_SERVER = `
const socket = require('dgram').createSocket('udp4');
socket.on('message', (q, from) => {
  const end = q.indexOf(0, 12) + 5;
  const head = Buffer.from([q[0], q[1], 0x84, 0, 0, 1, 0, 1, 0, 0, 0, 0]);
  const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 77]);
  socket.send(Buffer.concat([head, q.subarray(12, end), answer]), from.port, from.address);
});
socket.bind(5353, () => console.log('ready'));`;

const ASK = `const r = new (require('dns').promises.Resolver)(); r.setServers(['${DNS_ADDRESS}']);
r.resolve4('intranet.corp.example').then((a) => console.log(a.join()), (e) => console.log(e.code))`;

describe('cluster DNS', () => {
  let machines: Machines;
  let node: Machine;
  before(async () => {
    machines = await createMachines([0]);
    [node] = machines.list as [Machine];
    await node.keelson('server --node-name node --dns none --detach');
    await node.importImages();
  });
  after(() => machines?.remove());

  it('leaves its address to a Service of the user', async () => {
    const spec = { clusterIP: DNS_ADDRESS, selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] };
    const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'own-dns' }, spec };
    await node.kubectl('apply -f -', { input: JSON.stringify(service) });
    await node.kubectl(`create deployment web --image=${images.test} --port=8080`);
    await node.kubectl('rollout status deployment/web --timeout=120s');
    await until('its pod', async () => (await node.fetch(`http://${DNS_ADDRESS}/cgi-bin/hostname`)).startsWith('web-'));
    assert.doesNotMatch(await node.keelson('status'), /dns/);
    assert.match(await node.kubectl('exec deploy/web -- cat /etc/resolv.conf'), /nameserver 10\.43\.0\.10/);
    await node.kubectl('delete service own-dns');
  });

  it('takes its address back, and forwards to the servers of a stub domain', async () => {
    process.kill(await node.pid(), 'SIGTERM');
    const status = [keelsonProgram, 'status', '--data-dir', node.dataDir];
    await until('its end', async () => (await node.run(process.execPath, status)).code !== 0);
    await node.keelson(
      `server --node-name node --dns keelson --dns-stub-domain corp.example=${node.address}:5353 --detach`,
    );
    const nameServer = node.start(process.execPath, ['-e', NAME_SERVER]);
    try {
      await nameServer.until(/ready/);
      await until('its answer', async () => (await node.must(process.execPath, ['-e', ASK])).trim() === '192.0.2.77');
    } finally {
      nameServer.kill('SIGKILL');
    }
  });
});
