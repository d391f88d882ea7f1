/**
 * An older version with objects, pods and a service, then this one on the same data directory: nothing is lost, no container
 * restarts, and requests through the service succeed all the time. `npm run test:upgrade`.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { freePlace, images, importImages, keelson, upArgs, type ClusterPlace } from '../integration/cluster-fixture.ts';
import { leftovers } from '../integration/fixtures/leftovers.ts';
import { endProcess, must, run } from '../integration/fixtures/programs.ts';
import { fetchText, startTraffic } from '../integration/fixtures/traffic.ts';
import { until } from '../integration/fixtures/until.ts';
import { kubectlProgram } from '../../tools/kubectl.ts';
import { olderProgram, withoutOlder } from './older-version.ts';

interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly status: {
    readonly podIP?: string;
    readonly containerStatuses?: readonly { containerID: string; restartCount: number }[];
  };
}

const skip = process.getuid?.() === 0 ? withoutOlder() : 'real pods need root';

describe('an upgrade', { skip }, () => {
  let place: ClusterPlace;
  const kubectl = (...args: string[]): Promise<string> =>
    must(kubectlProgram(), [
      `--kubeconfig=${place.dataDir}/admin.kubeconfig`,
      `--cache-dir=${place.dataDir}/cache`,
      ...args,
    ]);
  const pods = async (): Promise<readonly string[]> => {
    const { items } = JSON.parse(await kubectl('get', 'pods', '-l', 'app=web', '-o', 'json')) as { items: Pod[] };
    return items
      .map(({ metadata, status }) =>
        [
          metadata.uid,
          status.podIP,
          ...(status.containerStatuses ?? []).flatMap((each) => [each.containerID, each.restartCount]),
        ].join(' '),
      )
      .toSorted();
  };
  const uids = async (): Promise<readonly string[]> => {
    const kinds =
      'namespaces,deployments,replicasets,services,configmaps,secrets,serviceaccounts,customresourcedefinitions';
    const path = '{range .items[*]}{.kind}/{.metadata.namespace}/{.metadata.name}={.metadata.uid}{"\\n"}{end}';
    return (await kubectl('get', kinds, '-A', '-o', `jsonpath=${path}`)).split('\n').toSorted();
  };
  /** The pid of the older version, whose control socket only its own commands know. */
  const olderPid = async (): Promise<number> => {
    const args = [olderProgram(), 'status', '--data-dir', place.dataDir, '--output', 'json'];
    return (JSON.parse(await must(process.execPath, args)) as { pid: number }).pid;
  };

  before(async () => {
    place = await freePlace();
    await must(process.execPath, [olderProgram(), ...upArgs(place), '--detach'], { timeoutMs: 300_000 });
    await importImages(place);
  });
  after(async () => {
    await keelson(['down', '--delete-data', '--data-dir', place.dataDir]);
    assert.deepEqual(await leftovers(place), []);
  });

  test('keeps objects, pods and connections', async (t) => {
    await kubectl('create', 'deployment', 'web', `--image=${images.test}`, '--replicas=2');
    await kubectl('expose', 'deployment', 'web', '--port=80', '--target-port=8080');
    await kubectl('create', 'configmap', 'settings', '--from-literal=mode=old');
    await kubectl('rollout', 'status', 'deployment/web', '--timeout=120s');
    const address = await kubectl('get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}');
    const url = `http://${address.trim()}/cgi-bin/version`;
    await until('the service answers', () => fetchText(url));
    const [podsBefore, uidsBefore] = [await pods(), await uids()];
    const traffic = startTraffic(url);
    t.after(() => traffic.stop());
    await endProcess(await olderPid(), 'SIGTERM');
    const upgraded = await keelson([...upArgs(place), '--detach']);
    assert.equal(upgraded.code, 0, upgraded.stderr);
    await until('the node is Ready', async () => (await kubectl('get', 'nodes')).includes(' Ready '));
    assert.deepEqual(await pods(), podsBefore);
    const uidsAfter = await uids();
    assert.deepEqual(
      uidsBefore.filter((each) => !uidsAfter.includes(each)),
      [],
    );
    await kubectl('scale', 'deployment', 'web', '--replicas=3');
    await kubectl('rollout', 'status', 'deployment/web', '--timeout=120s');
    await traffic.stop();
    assert.deepEqual(traffic.failures, []);
    assert.ok([...traffic.answers.values()].reduce((sum, count) => sum + count, 0) > 100);
    assert.equal(
      (await run(kubectlProgram(), [`--kubeconfig=${place.dataDir}/admin.kubeconfig`, 'get', 'configmap', 'settings']))
        .code,
      0,
    );
  });
});
