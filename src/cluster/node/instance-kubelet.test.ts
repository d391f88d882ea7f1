import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settingsOf } from '../../kubelet/configuration/settings.ts';
import { createMemoryFiles } from '../../platform/sim/files.ts';
import { deriveInstance } from '../instance/instance.ts';
import { PreflightError } from '../preflight-error.ts';
import { instanceDocument, loadInstanceDocument } from './instance-kubelet.ts';
import { instanceNodeConfig } from './node.ts';

const instance = deriveInstance(
  {
    dataDir: '/data',
    nodeName: 'n',
    httpsPort: 6443,
    clusterCidr: '10.42.0.0/16',
    serviceCidr: '10.43.0.0/16',
    clusterDomain: 'cluster.local',
  } as never,
  () => '0123456789abcdef',
);
const of = { instance, port: 10_250 };

test('An instance without settings runs by the document that /configz shows', () => {
  const own = instanceNodeConfig(instance, of.port);
  const { published: _own, ...expected } = own;
  const { nodeName, rootDirectory } = own;
  const { published: _document, ...settings } = settingsOf(instanceDocument(of), { nodeName, rootDirectory });
  assert.deepEqual({ ...settings, localPathRoot: own.localPathRoot }, expected);
  assert.deepEqual(own.published?.(), instanceDocument(of));
});

test('A file and flags set fields; flags win; fields of the instance stay', async () => {
  const files = createMemoryFiles({ nowMs: () => 0 });
  await files.writeFile(
    '/k.yaml',
    'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 50\nreadOnlyPort: 10255\n',
  );
  const document = await loadInstanceDocument(files, of, { configFile: '/k.yaml', args: { 'max-pods': ['60'] } });
  assert.deepEqual(
    [document.maxPods, document.readOnlyPort, document.clusterDNS, document.staticPodPath],
    [60, 10_255, ['10.43.0.10'], '/data/pod-manifests'],
  );
});

test('A field the instance owns is refused with the reason, whichever way it is set', async () => {
  const files = createMemoryFiles({ nowMs: () => 0 });
  const load = (args: Record<string, string[]>) => loadInstanceDocument(files, of, { args });
  await assert.rejects(load({ port: ['10299'] }), (error) => {
    assert.ok(error instanceof PreflightError);
    assert.match(error.message, /^--kubelet-config, --kubelet-arg: port cannot be set here: /);
    return true;
  });
  await assert.rejects(load({ 'cluster-domain': ['other'] }), /--cluster-domain names it/);
  await assert.rejects(load({ 'anonymous-auth': ['true'] }), /authentication cannot be set here/);
  assert.equal((await load({ port: ['10250'] })).port, 10_250, 'the same value is no change');
});

test('Settings that no kubelet accepts are refused with the text of upstream', async () => {
  await assert.rejects(
    loadInstanceDocument(createMemoryFiles({ nowMs: () => 0 }), of, { args: { 'max-pods': ['-1'] } }),
    /failed to validate kubelet configuration/,
  );
  await assert.rejects(
    loadInstanceDocument(createMemoryFiles({ nowMs: () => 0 }), of, { configFile: '/none', args: {} }),
    /failed to load kubelet config file, path: \/none/,
  );
});
