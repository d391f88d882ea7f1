import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSchedulerOptions, type RawSchedulerOptions } from './scheduler-options.ts';
import { UserError } from './usage-error.ts';

const raw = (more: Partial<RawSchedulerOptions> = {}): RawSchedulerOptions => ({
  schedulerName: 'default-scheduler',
  kubeconfig: '/k',
  address: '127.0.0.1',
  port: '0',
  ...more,
});
const FILE = `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: { kubeconfig: /from-file }
leaderElection: { leaderElect: false, resourceName: mine }
`;

test('flags override the configuration file', () => {
  const { kubeconfig: _, ...bare } = raw({ config: 'x', leaderElect: 'true', leaderElectRetryPeriod: '1s' });
  const { kubeconfig, leaderElection } = parseSchedulerOptions(bare, { config: FILE });
  assert.equal(kubeconfig, '/from-file');
  assert.deepEqual(leaderElection, {
    leaderElect: true,
    leaseDurationMs: 15_000,
    renewDeadlineMs: 10_000,
    retryPeriodMs: 1000,
    resourceName: 'mine',
    resourceNamespace: 'kube-system',
  });
});

test('an algorithm provider or a policy file is converted to a profile', () => {
  const provider = parseSchedulerOptions(raw({ algorithmProvider: 'DefaultProvider', schedulerName: 'old' }), {});
  assert.equal(provider.scheduler.profiles[0]?.schedulerName, 'old');
  assert.ok(provider.scheduler.profiles[0]?.enabled.score.includes('LeastRequestedPriority'));
  const policy = '{"kind":"Policy","apiVersion":"v1","predicates":[{"name":"HostName"}],"priorities":[]}';
  const made = parseSchedulerOptions(raw({ policyConfigFile: 'x' }), { policy });
  assert.ok(made.scheduler.profiles[0]?.enabled.filter.includes('NodeName'));
});

const wrong: readonly (readonly [Partial<RawSchedulerOptions>, RegExp])[] = [
  [{ kubeconfig: '' }, /--kubeconfig is needed/],
  [{ algorithmProvider: 'Nope' }, /--algorithm-provider: plugin "Nope" has not been registered/],
  [{ algorithmProvider: 'DefaultProvider', config: 'x' }, /exclude one another/],
  [{ leaderElect: 'maybe' }, /neither true nor false/],
  [{ leaderElectLeaseDuration: 'long' }, /is not a duration/],
  [{ leaderElectLeaseDuration: '5s' }, /LeaseDuration must be greater than RenewDeadline/],
];
for (const [options, problem] of wrong)
  test(`a command line is refused with: ${problem.source}`, () => {
    assert.throws(
      () => parseSchedulerOptions(raw(options), {}),
      (error) => error instanceof UserError && error.exitCode === 2 && problem.test(error.message),
    );
  });
