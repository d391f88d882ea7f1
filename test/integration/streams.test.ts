/** kubectl's streams and waits, with every available kubectl: logs, exec, attach, cp, port-forward, watch, wait. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { kubectlPrograms } from '../../tools/kubectl.ts';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { images, startCluster, type Space, type TestCluster } from './cluster-fixture.ts';
import { fetchText } from './fixtures/traffic.ts';
import { proxyRequests } from './proxy-requests-suite.ts';

const scratch = mkdtempSync(join(tmpdir(), 'keelson-streams-'));
const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('hex');

let cluster: TestCluster;
before(async () => {
  cluster = await startCluster();
});
after(async () => {
  rmSync(scratch, { recursive: true, force: true });
  await cluster?.stop();
});

for (const [index, program] of kubectlPrograms().entries()) {
  describe(`streams of ${program}`, { concurrency: 4 }, () => {
    let space: Space;
    before(async () => {
      const made = await cluster.space(`streams-${index}`);
      space = cluster.with(program, made.namespace);
      await space.kubectl(['run', 'web', `--image=${images.test}`, '--labels=app=web']);
      await space.kubectl([
        'run',
        'ticker',
        `--image=${images.test}`,
        '--labels=app=ticker',
        '--',
        'bash',
        '-c',
        'trap "exit 0" TERM; i=0; while true; do echo "tick $((++i))"; echo "tock $i" >&2; sleep 0.2; done',
      ]);
      await space.kubectl('wait --for=condition=Ready pod --all --timeout=120s');
    });

    it('logs: all, followed, the last lines, with timestamps, by selector', async () => {
      await space.until('its line', async () => (await space.kubectl('logs web')) === 'serving on port 8080\n');
      const follow = space.start('logs -f ticker --tail=1');
      await follow.until(/tick (\d+)\n[^]*tick \d+\n[^]*tick \d+\n/);
      await follow.until(/tock \d+/);
      follow.kill();
      await follow.ended();
      assert.match(follow.stdout(), /tock \d+/, 'both streams are in the log');
      assert.match(
        await space.kubectl('logs ticker --timestamps --tail=2'),
        /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+\S* t[io]ck \d+\n\d{4}\S+ t[io]ck \d+\n$/,
      );
      assert.match(await space.kubectl('logs -l app=web --prefix'), /^\[pod\/web\/web\] serving/);
      assert.equal((await space.kubectl('logs ticker --limit-bytes=4')).length, 4);
      assert.match(await space.kubectl('logs ticker --since=1h'), /^t[io]ck 1\n/);
      assert.match((await space.outcome('logs web -c nobody')).stderr, /container nobody is not valid for pod web/);
    });

    it('exec: separate streams, standard input to its end, exit codes', async () => {
      const both = await space.outcome(['exec', 'web', '--', 'sh', '-c', 'echo out; echo err >&2; exit 7']);
      assert.deepEqual([both.code, both.stdout], [7, 'out\n']);
      assert.match(both.stderr, /^err\n/);
      assert.match(both.stderr, /command terminated with exit code 7/);
      const content = randomBytes(300_000);
      const input = content.toString('base64');
      const counted = await space.kubectl(['exec', '-i', 'web', '--', 'sh', '-c', 'sha256sum; echo done'], { input });
      assert.equal(counted, `${sha256(Buffer.from(input))}  -\ndone\n`);
      assert.match((await space.outcome('exec web -- /nothing')).stderr, /no such file or directory/);
      assert.notEqual((await space.outcome('exec web -- /nothing')).code, 0);
      const large = await space.kubectl(['exec', 'web', '--', 'sh', '-c', 'head -c 3000000 /dev/zero | tr "\\0" x']);
      assert.equal(large.length, 3_000_000);
      const interactive = space.start('exec -i web -- sh');
      interactive.write('echo first\n');
      await interactive.until(/first/);
      interactive.write('exit 5\n');
      assert.equal((await interactive.ended()).code, 5);
    });

    it('cp: files and folders in both directions', async () => {
      const folder = join(scratch, `cp-${index}`);
      mkdirSync(join(folder, 'tree/deep'), { recursive: true });
      const content = randomBytes(1_500_000);
      writeFileSync(join(folder, 'file'), content);
      writeFileSync(join(folder, 'tree/deep/leaf'), 'leaf\n');
      await space.kubectl(['cp', join(folder, 'file'), 'web:/tmp/file']);
      assert.match(await space.kubectl('exec web -- sha256sum /tmp/file'), new RegExp(`^${sha256(content)} `));
      await space.kubectl(['cp', 'web:/tmp/file', join(folder, 'back')]);
      assert.equal(sha256(readFileSync(join(folder, 'back'))), sha256(content));
      await space.kubectl(['cp', join(folder, 'tree'), 'web:/tmp/tree']);
      await space.kubectl(['cp', 'web:/tmp/tree', join(folder, 'tree-back')]);
      assert.equal(readFileSync(join(folder, 'tree-back/deep/leaf'), 'utf8'), 'leaf\n');
    });

    it('port-forward: to a pod and to a service, many connections, and a port without a listener', async () => {
      await space.kubectl('expose pod web --port=80 --target-port=8080');
      for (const target of ['pod/web 0:8080', 'service/web 0:80']) {
        const forward = space.start(`port-forward ${target.replace(' 0:', ` ${await freePort()}:`)}`);
        await forward.until(/Forwarding from 127\.0\.0\.1:\d+/);
        const port = Number(/127\.0\.0\.1:(\d+)/.exec(forward.stdout())![1]);
        const answers = await Promise.all(
          Array.from({ length: 8 }, () => fetchText(`http://127.0.0.1:${port}/cgi-bin/hostname`, 60_000)),
        );
        assert.deepEqual(
          answers,
          Array.from({ length: 8 }, () => 'web'),
        );
        forward.kill();
        await forward.ended();
      }
      const closed = space.start(`port-forward pod/web ${await freePort()}:9999`);
      await closed.until(/Forwarding from/);
      const socket = connect(Number(/127\.0\.0\.1:(\d+)/.exec(closed.stdout())![1]), '127.0.0.1');
      await new Promise((resolve) =>
        socket
          .on('close', resolve)
          .on('error', () => undefined)
          .write('x'),
      );
      await closed.until(/onnection refused|an error occurred forwarding/);
      closed.kill();
      await closed.ended();
    });

    it('run --rm -i and attach: interactive use of a program in a pod', async () => {
      const counted = await space.outcome(
        [
          'run',
          'counter',
          '--rm',
          '-i',
          '--restart=Never',
          `--image=${images.test}`,
          '--',
          'sh',
          '-c',
          'echo ready; wc -c',
        ],
        { input: '12345' },
      );
      assert.match(counted.stdout, /5\n[^]*pod "counter" deleted/, counted.stderr);
      await space.kubectl([
        'run',
        'echoing',
        '-i',
        '--attach=false',
        '--restart=Never',
        `--image=${images.test}`,
        '--',
        'sh',
        '-c',
        'while read line; do echo "got $line"; test "$line" = end && exit 0; done',
      ]);
      await space.kubectl('wait --for=condition=Ready pod/echoing --timeout=120s');
      const attached = space.start('attach -i echoing');
      attached.write('hello\n');
      await attached.until(/got hello/);
      attached.write('end\n');
      await attached.ended();
      await space.kubectl('wait --for=jsonpath={.status.phase}=Succeeded pod/echoing --timeout=120s');
    });

    it('get --watch, wait and events report changes', async () => {
      // An unschedulable pod: its appearance in the output shows that the watch has started.
      const nowhere = JSON.stringify({ spec: { nodeSelector: { no: 'where' } } });
      await space.kubectl(['run', 'first', `--image=${images.test}`, '--labels=app=seen', `--overrides=${nowhere}`]);
      const watch = space.start('get pods --watch --output-watch-events -l app=seen');
      await watch.until(/ADDED\s+first/);
      const waiting = space.start('wait --for=create pod/seen --timeout=120s');
      await space.kubectl(['run', 'seen', `--image=${images.test}`, '--labels=app=seen']);
      assert.equal((await waiting.ended()).code, 0);
      await space.kubectl('wait --for=condition=Ready pod/seen --timeout=120s');
      const gone = space.start('wait --for=delete pod/seen --timeout=120s');
      await space.kubectl('delete pod seen --grace-period=1 --wait=false');
      assert.equal((await gone.ended()).code, 0);
      await watch.until(/DELETED\s+seen/);
      await space.kubectl('delete pod first --now');
      watch.kill();
      await watch.ended();
      assert.match(
        watch.stdout(),
        /ADDED\s+seen\s+0\/1\s+(Pending|ContainerCreating)[^]*MODIFIED\s+seen\s+1\/1\s+Running[^]*MODIFIED\s+seen\s+1\/1\s+Terminating[^]*DELETED\s+seen/,
      );
      const late = await space.outcome('wait --for=condition=Ready pod/ticker-none --timeout=60s');
      assert.match(late.stderr, /pods "ticker-none" not found/);
      await space.until('all events', async () => {
        const text = await space.kubectl('events --for pod/seen');
        return ['Scheduled', 'Started', 'Killing'].every((reason) => text.includes(reason));
      });
    });
  });
}

proxyRequests(() => cluster.space('proxied'));
