import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { containerdConfig, type ContainerdOptions } from './containerd-config.ts';
import { hasSysResource } from './containerd-supervisor.ts';

const options: ContainerdOptions = {
  rootDir: '/k/root',
  stateDir: '/k/state',
  socketPath: '/k/c.sock',
  cniBinDir: '/cni/bin',
  cniConfDir: '/k/cni',
  registryConfigDir: '/k/certs.d',
  sandboxImage: 'keelson.local/pause:1',
  cgroupDriver: 'cgroupfs',
  restrictOomScoreAdj: false,
};

describe('the configuration of containerd', () => {
  it('keeps everything in the directories of the instance', () => {
    const text = containerdConfig(options);
    assert.match(text, /^version = 2\nroot = "\/k\/root"\nstate = "\/k\/state"\n/);
    assert.match(text, /\[grpc\]\n {2}address = "\/k\/c\.sock"/);
    assert.match(
      text,
      /\[plugins\."io\.containerd\.grpc\.v1\.cri"\.cni\]\n {2}bin_dir = "\/cni\/bin"\n {2}conf_dir = "\/k\/cni"/,
    );
    assert.match(text, /netns_mounts_under_state_dir = true/);
    assert.match(text, /restrict_oom_score_adj = false/);
  });

  it('sets the cgroup driver of runc', () => {
    const text = containerdConfig({ ...options, cgroupDriver: 'systemd' });
    assert.match(text, /runtimes\.runc\.options\]\n {2}SystemdCgroup = true/);
  });

  it('cannot be broken out of by a path', () => {
    assert.ok(containerdConfig({ ...options, cniBinDir: 'a"\nb' }).includes('bin_dir = "a\\"\\nb"'));
  });

  const capabilities: [string, boolean][] = [
    ['CapEff:\t000001ffffffffff', true],
    ['CapEff:\t000001fffeffffff', false],
    ['', true],
  ];
  for (const [status, expected] of capabilities)
    it(`CAP_SYS_RESOURCE in ${JSON.stringify(status)}: ${expected}`, () =>
      assert.equal(hasSysResource(status), expected));
});
